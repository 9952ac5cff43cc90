"""Which workspace is meant, and where this kurz answers: what several commands ask."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kurz.cli.session import shown_base_url
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
        raise WorkspaceNotFound(f"There is no workspace “{name}”.")
    return found


def own_hosts(kurz: "Kurz") -> tuple[str, ...]:
    """Where this kurz listens, as far as the settings tell: a link to it would be a loop."""
    return (urlsplit(shown_base_url(kurz.settings)).netloc,)
