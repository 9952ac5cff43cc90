"""Which destinations are checked next: those that are asked for, then what is due for longest."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from functools import partial

from kurz.clock import Clock
from kurz.safety.checks import CheckStore, Destination, Turns, Waiting

LOOKING_SHARE = 0.1  # of the time, for looking through what cannot have its turn yet

Place = tuple[str, bool]  # of a check: its site, and whether somebody asks for it
_Find = Callable[[datetime, Waiting | None, int], Awaitable[Sequence[Waiting]]]


class CheckQueue:
    """What waits, page by page. A site whose turn it is not is passed over: its others have theirs
    when all that waits was looked through."""

    def __init__(
        self,
        store: CheckStore,
        turns: Turns,
        clock: Clock,
        page: int,
        rest_seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        self._store = store
        self._clock = clock
        self._asked, self._due = (
            _Walk(find, is_open, clock, page, rest_seconds, monotonic)
            for find, is_open in (
                (store.find_asked, partial(turns.is_open, is_asked=True)),
                (store.find_due, turns.is_open),
            )
        )

    @property
    def has_more(self) -> bool:
        return self._asked.has_more or self._due.has_more

    async def take(
        self, busy: Collection[Place], room: int, *, is_due_too: bool
    ) -> list[tuple[Destination, str]]:
        """Up to so many to be called now, with their sites. What somebody asks for does not wait
        for what is only due."""
        chosen: dict[str, int] = {}
        await self._asked.choose(chosen, {site for site, is_asked in busy if is_asked}, room)
        if is_due_too:
            await self._due.choose(chosen, {site for site, _ in busy}, room)
        if not chosen:
            return []
        sites = {destination_id: site for site, destination_id in chosen.items()}
        found = await self._store.load([*sites], self._clock.now())
        return [(destination, sites[destination.id]) for destination in found]


class _Walk:
    """Through all that waits, again and again, from where it stopped."""

    def __init__(
        self,
        find: _Find,
        is_open: Callable[[str], bool],
        clock: Clock,
        page: int,
        rest_seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        self._find = find
        self._is_open = is_open
        self._clock = clock
        self._page = page
        self._rest_seconds = rest_seconds
        self._monotonic = monotonic
        self._after: Waiting | None = None
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
                self._start_over()
                return

    def _start_over(self) -> None:
        now = self._monotonic()
        rest = (now - self._began) * (1 / LOOKING_SHARE - 1)
        self._next_at = now + max(rest, self._rest_seconds)
        self.has_more, self._has_seen, self._after = self._has_seen, False, None
