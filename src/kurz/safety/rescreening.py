"""What screening existing links needs from a store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from kurz.safety.bans import Cause

JOB = "screening"
RULED = (Cause.LIST, Cause.HOST)  # bans that screening makes and ends


class Seen(NamedTuple):
    link_id: int
    location: str


@dataclass(frozen=True, slots=True)
class Position:
    """How far links are screened by the rules with this digest; `finished_at`: all of them are.
    `has_held`: there are links that visitors are warned of."""

    digest: str = ""
    link_id: int = 0
    finished_at: datetime | None = None
    has_held: bool = False


class ScreeningStore(Protocol):
    """Links come by their ids, from the one after `after` on. An outage raises
    `StoreUnavailable`."""

    async def position(self) -> Position: ...

    async def keep(self, position: Position) -> None: ...

    async def next(self, after: int, most: int) -> Sequence[Seen]:
        """Those that are neither banned nor in the trash."""

    async def last_change(self) -> int:
        """The number of the last change of a link."""

    async def changed(self, after: int, most: int) -> tuple[int, Sequence[Seen]]:
        """Such links, of the changes behind one; and the number of the last of these changes, or
        of the last that there is."""

    async def held(self, after: int, most: int) -> Sequence[Seen]: ...

    async def banned(self, after: int, most: int) -> Sequence[Seen]:
        """Those that a list or the ban of a host has banned."""

    async def release(self, seen: Sequence[Seen], now: datetime) -> int:
        """Visitors are not warned any more of those that still lead there; tells how many."""
