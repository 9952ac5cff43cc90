"""What a worker knows about a code: enough to answer without asking the store."""

from dataclasses import dataclass
from struct import Struct

from kurz.clicks.record import link_tag_of
from kurz.freshness.routes import Route
from kurz.links.lifecycle import Outcome
from kurz.links.model import Status

SECOND = 1_000_000  # microseconds
TOMBSTONE_MICROS = 3600 * SECOND  # how long the end of a link is remembered
# How long a 404 is remembered. A hidden link (deleted, paused, not active yet) is looked up as
# often as an unknown code: each lookup is charged as a miss, which must not reveal hidden links.
ABSENCE_MICROS = 30 * SECOND
PERMANENT = (301, 308)
# Browsers may keep a permanent redirect this long: an edit must get through.
KEEP_MICROS = 60 * SECOND

END = b"\r\n\r\n"

_LINK_ID = Struct("<Q")  # the first part of a link tag
_SETTLED: dict[str, Outcome] = {
    Status.ACTIVE: Outcome.REDIRECT,
    Status.EXPIRED: Outcome.REDIRECT,  # the clock decides, not the row
    Status.EXHAUSTED: Outcome.REDIRECT,  # the count decides
    Status.DELETED: Outcome.MISSING,
    Status.PAUSED: Outcome.MISSING,
    Status.BANNED: Outcome.BANNED,
}


def prefix_of(workspace_id: int) -> bytes:
    """The prefix of a workspace's keys. At the root, a path is its own key."""
    return b"%d" % workspace_id if workspace_id else b""


def key_of(workspace_id: int, short_code: str) -> bytes:
    return prefix_of(workspace_id) + b"/" + short_code.encode()


@dataclass(slots=True)
class Entry:
    """Instants are in microseconds. `settled` is the outcome between `starts_at` and `expires_at`.
    An ended or missing link is used until `stale_at`. Memory keeps entries in their packed form
    (`redirect/packed`)."""

    key: bytes
    link_tag: bytes
    version: int
    space: int
    settled: Outcome
    location: str
    redirect_status: int
    forward_query: bool
    is_limited: bool
    created_at: int
    starts_at: int | None
    expires_at: int | None
    stale_at: int | None = None

    @classmethod
    def of(cls, key: bytes, workspace_id: int, route: Route, now: int) -> "Entry":
        is_final = route.status in (Status.DELETED, Status.BANNED)  # whatever the clock says
        is_limited = route.max_clicks is not None
        settled = _SETTLED[route.status]
        if is_limited and route.clicks_used >= (route.max_clicks or 0) and not is_final:
            settled = Outcome.EXHAUSTED if settled is Outcome.REDIRECT else settled
        if route.is_held and settled is Outcome.REDIRECT:
            settled = Outcome.HELD
        entry = cls(
            key=key,
            link_tag=link_tag_of(route.link_id, workspace_id),
            version=route.version,
            space=route.space,
            settled=settled,
            location=route.location,
            redirect_status=route.redirect_status,
            forward_query=bool(route.forward_query),
            is_limited=is_limited,
            created_at=route.created_at,
            starts_at=None if is_final else route.starts_at,
            expires_at=None if is_final else route.expires_at,
        )
        entry.derive(now)
        return entry

    def derive(self, now: int) -> None:
        """Computes `stale_at`, and drops a start that has passed: after loading, and when the link
        has started or reached its click limit."""
        if self.starts_at is not None and self.starts_at <= now:
            self.starts_at = None
        self.stale_at = None
        if self.outcome(now) is Outcome.MISSING:
            self.stale_at = now + ABSENCE_MICROS
        elif self.settled is not Outcome.REDIRECT:
            self.stale_at = now + TOMBSTONE_MICROS
        elif self.expires_at is not None:
            self.stale_at = max(now, self.expires_at) + TOMBSTONE_MICROS

    @property
    def is_lane_servable(self) -> bool:
        """Whether the lane may send the redirect, until `servable_until` (None: always). Everything
        else takes the ASGI path."""
        lives = self.settled is Outcome.REDIRECT and self.starts_at is None
        return lives and not self.is_limited

    @property
    def servable_until(self) -> int | None:
        if self.expires_at is not None and self.redirect_status in PERMANENT:
            return self.expires_at - KEEP_MICROS
        return self.expires_at

    @property
    def tail(self) -> bytes:
        """The end of the answer of a redirect."""
        return self.location.encode() + END

    @property
    def link_id(self) -> int:
        link_id: int = _LINK_ID.unpack_from(self.link_tag)[0]
        return link_id

    @property
    def is_of_workspace(self) -> bool:
        return not self.key.startswith(b"/")  # see `prefix_of`

    def outcome(self, now: int) -> Outcome:
        if self.starts_at is not None and now < self.starts_at:
            return Outcome.MISSING
        if self.expires_at is not None and now >= self.expires_at:
            return Outcome.EXPIRED
        return self.settled

    def is_stale(self, now: int) -> bool:
        return self.stale_at is not None and now >= self.stale_at


_NOWHERE = Route(0, 0, Status.DELETED, "", 302, False, None, 0, 0, None, None)  # noqa: FBT003


def absence(key: bytes, now: int) -> Entry:
    """There is no such link."""
    return Entry.of(key, 0, _NOWHERE, now)
