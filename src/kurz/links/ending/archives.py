"""The archive: what is kept of links when they are purged, and what archiving needs from a store
and from the place where the files lie."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from kurz.links.model import Link
from kurz.links.retention import Ended

# The largest file that is read, packed. The archive's own files are smaller.
MAX_FILE_BYTES = 64 * 1024 * 1024


class CountedTotals(NamedTuple):
    """All clicks of a link, and the moments of the latencies that were measured."""

    clicks: int
    timed: int
    mean_ms: float
    m2: float


class CountedDay(NamedTuple):
    """What was counted for a link on a day; `counts` is JSON, `sketch` tells visitors apart."""

    day: date
    clicks: int
    people: int
    visitors: int
    counts: bytes
    sketch: bytes


class State(NamedTuple):
    """What must not have changed between a link's line in a file and its end."""

    link_id: int
    version: int
    clicks: int


@dataclass(frozen=True, slots=True)
class ArchivedLink:
    """A link with all that was counted for it alone."""

    link: Link
    claim_hash: bytes | None = None
    totals: CountedTotals | None = None
    days: Sequence[CountedDay] = ()

    @property
    def state(self) -> State:
        clicks = 0 if self.totals is None else self.totals.clicks
        return State(self.link.id, self.link.version, clicks)


class FileState(StrEnum):
    BEGUN = "begun"  # it may not be there yet, or its links may not be gone yet
    FINISHED = "finished"  # its links are gone
    GIVEN_UP = "given up"  # its links went on without it: it does not count


class FileEntry(NamedTuple):
    """A file as the store remembers it. Nobody ever begins another one of the same name."""

    name: str
    links: int
    created_at: datetime
    state: FileState


class Obstacle(StrEnum):
    """Why a link cannot be put back."""

    EXISTS = "exists"  # the link itself is there
    TAKEN = "taken"  # another one has its code, or is the URL's deterministic one
    NO_WORKSPACE = "no-workspace"  # its workspace is deleted
    REFUSED = "refused"  # no link may lead there
    INVALID = "invalid"  # a new link could not be like this: its URL, its code or another field
    NO_OWNER = "no-owner"  # it was a person's own, whose account is deleted
    OWNER_BANNED = "owner-banned"


class ArchiveStore(Protocol):
    """An outage raises `StoreUnavailable`."""

    async def purge_ownerless(
        self, ended: Ended, before: datetime, now: datetime, limit: int
    ) -> int:
        """Of the next links for the archive, purges the personal ones of accounts that are deleted:
        nothing is kept of them. Tells how many."""

    async def collect(
        self, ended: Ended, before: datetime, limit: int, but: Collection[int] = ()
    ) -> Sequence[ArchivedLink]:
        """The next links for the archive that ended before an instant, the earliest first. There
        may be fewer than `limit` although more are left, but none only if none is left. Those that
        `purge_ownerless` is for are left out, and those whose ids are in `but`."""

    async def begin_file(self, name: str, links: int, now: datetime) -> None:
        """A file of that name, which is new, is about to be written."""

    async def finish_file(self, name: str, states: Sequence[State], now: datetime) -> int | None:
        """The file is complete: purges its links, in one transaction with the end of the file, and
        tells how many; 0 if that was done before. None: the file is given up, now or before,
        because somebody has written one of its links since, one was clicked, or the owner of one
        has deleted their account. Then none of them is purged by this file, ever."""

    async def give_up_file(self, name: str, now: datetime) -> bool:
        """False: it is finished."""

    async def files(self, *states: FileState) -> Sequence[FileEntry]:
        """Oldest first; without a state, all."""

    async def forget_files(self, before: datetime) -> None:
        """Those that were given up before an instant."""

    async def last_versions(self, link_ids: Collection[int]) -> Mapping[int, int]:
        """Of links that may be gone, as far as anybody remembers them."""

    async def put_back(
        self, archived: ArchivedLink, last_version: int, now: datetime
    ) -> Link | Obstacle:
        """The link as it is given, under its own id and code, with all that was counted for it;
        only its version is higher than any before, of which `last_version` is one. In a workspace
        it is nobody's if its owner has deleted their account."""


class StoredFile(NamedTuple):
    name: str
    size: int


class ArchiveFiles(Protocol):
    """Where the files lie: a folder or a bucket. `ArchiveUnavailable`: it cannot be reached, is
    full, or may not be used."""

    async def check(self) -> None:
        """Whether it can be reached, as far as that is seen without writing."""

    async def write(self, name: str, data: bytes) -> None:
        """The file has its name only when it is whole, and is there to stay."""

    async def read(self, name: str) -> bytes | None:
        """None: there is no such file. `ArchiveFileBroken`: it has more than `MAX_FILE_BYTES`, or
        is a link or a device and no file."""

    async def list(self) -> Sequence[StoredFile]:
        """By name."""

    async def remove(self, name: str) -> None:
        """Also what is left of one that was not written to its end."""


@dataclass(frozen=True, slots=True)
class BatchDone:
    """How many links it was for, and whether there may be more. None although there are more: their
    file was given up, because one of its links was written or clicked meanwhile."""

    count: int
    is_more: bool


class LinkArchiver(Protocol):
    async def run(self, ended: Ended, before: datetime, now: datetime, limit: int) -> BatchDone:
        """Archives and purges up to `limit` links that ended before an instant. Instants are of
        the store's clock."""
