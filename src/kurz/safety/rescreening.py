"""What screening existing links needs from a store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from kurz.safety.bans import BanCause

JOB = "screening"
RULED = (BanCause.LIST, BanCause.HOST)  # bans that screening makes and ends


class Seen(NamedTuple):
    link_id: int
    location: str


@dataclass(frozen=True, slots=True)
class RescreenPosition:
    """How far links are screened by the rules with this digest; `finished_at`: all are. `has_held`:
    there are links whose visitors are warned."""

    digest: str = ""
    link_id: int = 0
    finished_at: datetime | None = None
    has_held: bool = False


class ScreeningStore(Protocol):
    """Links are read by id, starting after `after`. An outage raises `StoreUnavailable`."""

    async def position(self) -> RescreenPosition: ...

    async def keep(self, position: RescreenPosition) -> None: ...

    async def next(self, after: int, most: int) -> Sequence[Seen]:
        """Links that are neither banned nor in the trash."""

    async def last_change(self) -> int:
        """The number of the last change of a link."""

    async def changed(self, after: int, most: int) -> tuple[int, Sequence[Seen]]:
        """Such links among the changes after a number; and the number of the last change that was
        read."""

    async def held(self, after: int, most: int) -> Sequence[Seen]: ...

    async def banned(self, after: int, most: int) -> Sequence[Seen]:
        """Links that are banned by a list or the ban of a host."""

    async def release(self, seen: Sequence[Seen], now: datetime) -> int:
        """Releases held links that still have this destination; returns how many."""
