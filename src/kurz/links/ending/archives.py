"""The archive: what it keeps of purged links, and what archiving needs from a store and from the
place of the files."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from kurz.links.ending.retention import EndedKind
from kurz.links.model import Link

# The largest file that is read, packed. The archive's own files are smaller.
MAX_FILE_BYTES = 64 * 1024 * 1024


class CountedTotals(NamedTuple):
    """All clicks of a link, and the moments of the latencies that were measured."""

    clicks: int
    timed: int
    mean_ms: float
    m2: float


class CountedDay(NamedTuple):
    """What was counted for a link on a day; `counts` is JSON, `sketch` estimates the visitors. With
    `month`, it is a whole month (`clicks/folding`), and `day` is its first."""

    day: date
    clicks: int
    people: int
    visitors: int
    counts: bytes
    sketch: bytes
    month: bytes | None = None


class ArchiveState(NamedTuple):
    """What must not have changed between writing a link's line to a file and purging it."""

    link_id: int
    version: int
    clicks: int


@dataclass(frozen=True, slots=True)
class ArchivedLink:
    """A link with everything that was counted for it."""

    link: Link
    claim_hash: bytes | None = None
    totals: CountedTotals | None = None
    days: Sequence[CountedDay] = ()

    @property
    def state(self) -> ArchiveState:
        clicks = 0 if self.totals is None else self.totals.clicks
        return ArchiveState(self.link.id, self.link.version, clicks)


class FileState(StrEnum):
    BEGUN = "begun"  # the file or the purge of its links may be missing
    FINISHED = "finished"  # its links are purged
    GIVEN_UP = "given up"  # given up: its links were not purged by it


class FileEntry(NamedTuple):
    """A file as the store knows it. Its name is never used again."""

    name: str
    links: int
    created_at: datetime
    state: FileState


class Obstacle(StrEnum):
    """Why a link cannot be restored."""

    EXISTS = "exists"  # the link exists
    TAKEN = "taken"  # another link has its code, or is the deterministic link of the URL
    NO_WORKSPACE = "no-workspace"  # its workspace is deleted
    REFUSED = "refused"  # no link may lead to its destination
    INVALID = "invalid"  # its URL, code or another field would be refused in a new link
    NO_OWNER = "no-owner"  # it was a personal link, and the account is deleted
    OWNER_BANNED = "owner-banned"


class ArchiveStore(Protocol):
    """An outage raises `StoreUnavailable`."""

    async def purge_ownerless(
        self, ended: EndedKind, before: datetime, now: datetime, limit: int
    ) -> int:
        """Purges, of the next links for the archive, the personal links of deleted accounts:
        nothing is kept of them. Returns how many."""

    async def collect(
        self, ended: EndedKind, before: datetime, limit: int, but: Collection[int] = ()
    ) -> Sequence[ArchivedLink]:
        """The next links for the archive that ended before an instant, the earliest first. It may
        return fewer than `limit` although more are left, but none only if none is left. It leaves
        out those of `purge_ownerless`, and the ids in `but`."""

    async def begin_file(self, name: str, links: int, now: datetime) -> None:
        """A file of that name, which is new, is about to be written."""

    async def finish_file(
        self, name: str, states: Sequence[ArchiveState], now: datetime
    ) -> int | None:
        """The file is complete: purges its links and marks the file as finished, in one
        transaction. Returns how many; 0 if that was done before. None: the file is given up, now or
        before, because one of its links was written or clicked since, or its owner has deleted
        their account. This file then never purges a link."""

    async def give_up_file(self, name: str, now: datetime) -> bool:
        """False: it is finished."""

    async def files(self, *states: FileState) -> Sequence[FileEntry]:
        """Oldest first; without a state, all."""

    async def forget_files(self, before: datetime) -> None:
        """Removes those that were given up before an instant."""

    async def last_versions(self, link_ids: Collection[int]) -> Mapping[int, int]:
        """Of links that may be purged, as far as the store still knows them."""

    async def put_back(
        self, archived: ArchivedLink, last_version: int, now: datetime
    ) -> Link | Obstacle:
        """Restores the link unchanged, under its own id and code, with everything that was counted
        for it. Only its version is new: higher than any before, such as `last_version`. In a
        workspace it has no owner if its owner has deleted their account."""


class StoredFile(NamedTuple):
    name: str
    size: int


class ArchiveFiles(Protocol):
    """Where the files are: a folder or a bucket. `ArchiveUnavailable`: it cannot be reached, is
    full, or may not be used."""

    async def check(self) -> None:
        """Raises if it cannot be reached, as far as that can be known without writing."""

    async def write(self, name: str, data: bytes) -> None:
        """The file gets its name only when it is complete and durable."""

    async def read(self, name: str) -> bytes | None:
        """None: there is no such file. `ArchiveFileBroken`: it has more than `MAX_FILE_BYTES`, or
        is not a regular file."""

    async def list(self) -> Sequence[StoredFile]:
        """By name."""

    async def remove(self, name: str) -> None:
        """Also removes the remains of an incomplete file."""


@dataclass(frozen=True, slots=True)
class BatchDone:
    """How many links were done, and whether there may be more. It can be 0 with more to do: the
    file was given up because one of its links was written or clicked meanwhile."""

    count: int
    is_more: bool


class LinkArchiver(Protocol):
    async def run(self, ended: EndedKind, before: datetime, now: datetime, limit: int) -> BatchDone:
        """Archives and purges up to `limit` links that ended before an instant. Instants are of
        the store's clock."""
