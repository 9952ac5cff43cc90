"""Which workspace is meant, and where this kurz answers: what several commands ask."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kurz.cli.session import shown_base_url
from kurz.links.model import ROOT_WORKSPACE_ID, Link
from kurz.people.errors import WorkspaceNotFound

if TYPE_CHECKING:
    from kurz.bootstrap import Kurz
    from kurz.people.workspaces import Workspace

MAX_DIGITS = 18  # a longer number is no row number


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
    """The one that is meant; without a name the one at the root, if there is one."""
    name = name or kurz.settings.root_workspace
    return None if name is None else await get_workspace(kurz, name)


def id_of(workspace: "Workspace | None") -> int:
    return ROOT_WORKSPACE_ID if workspace is None else workspace.id


async def address_of(kurz: "Kurz", link: Link) -> str:
    """Its short URL: on its workspace's own domain, if there is one."""
    from kurz.links.view import short_url

    base_url = shown_base_url(kurz.settings)
    workspace = await kurz.workspaces.find(link.workspace_id) if link.workspace_id else None
    if workspace is None or workspace.slug == kurz.settings.root_workspace:
        return short_url(base_url, link.short_code)
    host = await kurz.domains.host_of(workspace.id)
    if host is not None:
        return short_url(f"{urlsplit(base_url).scheme}://{host}", link.short_code)
    return short_url(base_url, link.short_code, workspace.slug)


def own_hosts(kurz: "Kurz") -> tuple[str, ...]:
    """Where this kurz listens, as far as that is known: a link to it would be a loop."""
    return (urlsplit(shown_base_url(kurz.settings)).netloc,)
