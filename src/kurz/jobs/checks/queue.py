"""Which destinations are checked next: requested ones, then those that are overdue longest."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from kurz.clock import Clock
from kurz.safety.checks import CheckStore, Destination, SiteTurns, WaitingChecks

LOOKING_SHARE = 0.1  # of the time, for reading what cannot be checked yet

SiteQueue = tuple[str, bool]  # of a check: its site, and whether somebody asked for it
_Find = Callable[[datetime, WaitingChecks | None, int], Awaitable[Sequence[WaitingChecks]]]


@dataclass(frozen=True)
class CheckPace:
    """How much is done at once, and how long."""

    at_once: int = 256  # that are being called
    # With those that wait for their site, which block no others. One check of a site starts at a
    # time, plus one that somebody requested.
    under_way: int = 4096
    page: int = 500  # that are looked through in one read
    run_seconds: float = 300.0
    rest_seconds: float = 1.0  # between reads of the queue


USUAL_PACE = CheckPace()


class CheckQueue:
    """The waiting destinations, page by page. A site that may not be called yet is skipped: its
    destinations come again after everything else was read."""

    def __init__(
        self,
        store: CheckStore,
        turns: SiteTurns,
        clock: Clock,
        pace: CheckPace,
        monotonic: Callable[[], float],
    ) -> None:
        self._store = store
        self._clock = clock
        self._asked, self._due = (
            _Walk(find, is_open, clock, pace, monotonic)
            for find, is_open in (
                (store.find_requested, partial(turns.is_open, is_requested=True)),
                (store.find_due, turns.is_open),
            )
        )

    @property
    def has_more(self) -> bool:
        return self._asked.has_more or self._due.has_more

    async def take(
        self, busy: Collection[SiteQueue], room: int, *, is_due_too: bool
    ) -> list[tuple[Destination, str]]:
        """Up to this many to check now, with their sites. Requested checks do not wait for those
        that are only due."""
        chosen: dict[str, int] = {}
        await self._asked.choose(
            chosen, {site for site, is_requested in busy if is_requested}, room
        )
        if is_due_too:
            await self._due.choose(chosen, {site for site, _ in busy}, room)
        if not chosen:
            return []
        sites = {destination_id: site for site, destination_id in chosen.items()}
        found = await self._store.load([*sites], self._clock.now())
        return [(destination, sites[destination.id]) for destination in found]


class _Walk:
    """Reads everything that waits, repeatedly, from where it stopped."""

    def __init__(
        self,
        find: _Find,
        is_open: Callable[[str], bool],
        clock: Clock,
        pace: CheckPace,
        monotonic: Callable[[], float],
    ) -> None:
        self._find = find
        self._is_open = is_open
        self._clock = clock
        self._page = pace.page
        self._rest_seconds = pace.rest_seconds
        self._monotonic = monotonic
        self._after: WaitingChecks | None = None
        self._began = self._next_at = monotonic()
        self._has_seen = False  # anything, since it began with the first
        self.has_more = True

    async def choose(self, chosen: dict[str, int], busy: Collection[str], room: int) -> None:
        if self._monotonic() < self._next_at:
            return
        if self._after is None:
            self._began = self._monotonic()
        while len(chosen) < room:
            rows = await self._find(self._clock.now(), self._after, self._page)
            for waiting in rows:
                if len(chosen) >= room:
                    return
                self._has_seen = True
                self._after = waiting
                is_free = waiting.site not in busy and waiting.site not in chosen
                if is_free and self._is_open(waiting.site):
                    chosen[waiting.site] = waiting.id
            if len(rows) < self._page:
                self._reset()
                return

    def _reset(self) -> None:
        now = self._monotonic()
        rest = (now - self._began) * (1 / LOOKING_SHARE - 1)
        self._next_at = now + max(rest, self._rest_seconds)
        self.has_more, self._has_seen, self._after = self._has_seen, False, None
