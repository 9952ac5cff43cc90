"""What a worker knows about a code: enough to answer without asking the store."""

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

LOCATION = b"location: "
END = b"\r\n\r\n"
OWN_BYTES = 370  # memory of an entry without its key and location, with its slots

_LINK_ID = Struct("<Q")  # the first part of a link tag
_SETTLED = {
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


class Entry:
    """Instants are in microseconds. `settled` is the outcome between `starts_at` and `expires_at`.
    `tail` ends the answer of a redirect. If `is_lane_servable`, the lane may send it, until
    `servable_until` (None: always); everything else takes the ASGI path. An ended or missing link
    is used until `stale_at`. Slots and bytes save memory: there may be a million entries."""

    __slots__ = (
        "created_at",
        "expires_at",
        "forward_query",
        "is_lane_servable",
        "is_limited",
        "key",
        "link_tag",
        "redirect_status",
        "servable_until",
        "settled",
        "space",
        "stale_at",
        "starts_at",
        "tail",
        "version",
        "was_used",
    )

    def __init__(self, key: bytes, workspace_id: int, route: Route, now: int) -> None:
        status = Status(route.status)
        is_final = status in (Status.DELETED, Status.BANNED)  # whatever the clock says
        self.key = key
        self.version = route.version
        self.space = route.space
        self.link_tag = link_tag_of(route.link_id, workspace_id)
        self.settled = _SETTLED[status]
        self.starts_at = None if is_final else route.starts_at
        self.expires_at = None if is_final else route.expires_at
        self.created_at = route.created_at
        self.redirect_status = route.redirect_status
        self.forward_query = bool(route.forward_query)
        self.is_limited = route.max_clicks is not None
        self.tail = LOCATION + route.location.encode() + END
        self.was_used = False
        if self.is_limited and route.clicks_used >= (route.max_clicks or 0) and not is_final:
            self.settled = Outcome.EXHAUSTED if self.settled is Outcome.REDIRECT else self.settled
        if route.is_held and self.settled is Outcome.REDIRECT:
            self.settled = Outcome.HELD
        self.derive(now)

    def derive(self, now: int) -> None:
        """Computes the derived fields: after loading, and when the link has started or reached its
        click limit."""
        if self.starts_at is not None and self.starts_at <= now:
            self.starts_at = None
        self.stale_at: int | None = None
        if self.outcome(now) is Outcome.MISSING:
            self.stale_at = now + ABSENCE_MICROS
        elif self.settled is not Outcome.REDIRECT:
            self.stale_at = now + TOMBSTONE_MICROS
        elif self.expires_at is not None:
            self.stale_at = max(now, self.expires_at) + TOMBSTONE_MICROS
        lives = self.settled is Outcome.REDIRECT and self.starts_at is None
        self.is_lane_servable = lives and not self.is_limited
        self.servable_until = self.expires_at
        if self.expires_at is not None and self.redirect_status in PERMANENT:
            self.servable_until = self.expires_at - KEEP_MICROS

    @property
    def link_id(self) -> int:
        link_id: int = _LINK_ID.unpack_from(self.link_tag)[0]
        return link_id

    @property
    def is_of_workspace(self) -> bool:
        return not self.key.startswith(b"/")  # see `prefix_of`

    @property
    def location(self) -> str:
        return self.tail[len(LOCATION) : -len(END)].decode()

    @property
    def size(self) -> int:
        return OWN_BYTES + len(self.key) + len(self.tail)

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
    return Entry(key, 0, _NOWHERE, now)
