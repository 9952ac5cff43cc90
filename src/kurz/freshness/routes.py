"""What is passed between the tiers: what a redirect needs of a link, and what was written."""

from typing import NamedTuple


class Route(NamedTuple):
    """What a redirect needs to know of a link; instants in microseconds, as they are stored."""

    link_id: int
    version: int
    status: str
    location: str
    redirect_status: int
    forward_query: bool
    max_clicks: int | None
    clicks_used: int
    created_at: int
    starts_at: int | None
    expires_at: int | None
    is_held: bool = False
    space: int = 0  # as in `links.model.space_of`


SPACE_ENDED = 1


class Change(NamedTuple):
    """A row of the change log: a link that is or was under this code, and its version. Link 0: the
    slugs or domains of the workspace were changed; or, with `SPACE_ENDED` as the version and a
    space as the code, all links of that space ended at once."""

    link_id: int
    workspace_id: int
    short_code: str
    version: int

    @property
    def ended_space(self) -> int | None:
        """The space whose links all ended."""
        is_end = self.link_id == 0 and self.version == SPACE_ENDED
        return int(self.short_code) if is_end else None


class Cached(NamedTuple):
    """What the second tier knows of a code at `position` of the change log. Without a route: there
    was no such link, or, if there is a version, only that the link was written."""

    link_id: int
    version: int
    route: Route | None
    position: int
