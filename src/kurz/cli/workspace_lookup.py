"""Which workspace a command means, and the address of this kurz."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kurz.cli.session import shown_base_url
from kurz.links.model import ROOT_WORKSPACE_ID, Link
from kurz.people.errors import WorkspaceNotFound

if TYPE_CHECKING:
    from kurz.people.workspaces import Workspace
    from kurz.wiring.core import Kurz

MAX_DIGITS = 18  # a longer number is not a row number


async def get_workspace(kurz: "Kurz", name: str) -> "Workspace":
    """By its slug or number."""
    by_number = name.isdecimal() and name.isascii() and len(name) <= MAX_DIGITS
    found = await (
        kurz.workspaces.find(int(name)) if by_number else kurz.workspaces.find_by_slug(name.lower())
    )
    if found is None or found.deleted_at is not None:
        raise WorkspaceNotFound(f"There is no workspace “{name}”. See: kurz admin workspace list.")
    return found


async def find_workspace(kurz: "Kurz", name: str | None) -> "Workspace | None":
    """The workspace of this name; without a name the one at the root, if there is one."""
    name = name or kurz.settings.root_workspace
    return None if name is None else await get_workspace(kurz, name)


def id_of(workspace: "Workspace | None") -> int:
    return ROOT_WORKSPACE_ID if workspace is None else workspace.id


async def address_of(kurz: "Kurz", link: Link) -> str:
    """Its short URL: on its workspace's own domain, if there is one."""
    workspace = await kurz.workspaces.find(link.workspace_id) if link.workspace_id else None
    root_id = id_of(await find_workspace(kurz, None))
    prefix = await kurz.domains.prefix(shown_base_url(kurz.settings), workspace, root_id)
    return prefix + link.short_code


def own_hosts(kurz: "Kurz") -> tuple[str, ...]:
    """Where this kurz listens, as far as known: a link to it would be a loop."""
    return (urlsplit(shown_base_url(kurz.settings)).netloc,)
