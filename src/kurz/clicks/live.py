"""Numbers as they change: today's, and the newest clicks."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import structlog

from kurz.clicks.click import ClickRow, name
from kurz.clicks.errors import ListenersFull, TooManyStreams
from kurz.clicks.ports import StreamSlots
from kurz.clicks.series import Numbers
from kurz.clicks.stats import About, StatsStore
from kurz.clicks.visitors import DAY_MICROS
from kurz.clock import Clock
from kurz.errors import StoreUnavailable

MAX_LISTENERS = 200  # in a worker
LOOK_SECONDS = 1.0
NEWEST = 10

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Now:
    """`today` is a day of UTC, since 1970; `numbers` are of that day, `all_clicks` of all time."""

    today: int
    numbers: Numbers
    all_clicks: int
    newest: Sequence[ClickRow]


class Live:
    """Reads every subject that has listeners once a second, however many there are.
    `max_of_account` applies to all workers and instances; 0 is unlimited. `slots` is used if other
    processes serve streams of the same accounts."""

    def __init__(
        self,
        store: StatsStore,
        clock: Clock,
        *,
        max_listeners: int = MAX_LISTENERS,
        max_of_account: int = 0,
        slots: StreamSlots | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._max_listeners = max_listeners
        self._max_of_account = max_of_account or math.inf
        self._slots = slots
        self._accounts: Counter[int] = Counter()  # how many streams each of them has
        self._watches: dict[About, _Watch] = {}
        self._is_closed = False

    async def listen(
        self, about: About, account_id: int, seconds: float, rest_seconds: float
    ) -> AsyncGenerator[Now | None, None]:
        """Yields the numbers at once and when they change, for that long; None if nothing has
        changed for `rest_seconds`. Ends early when this is closed. Raises `ListenersFull` or
        `TooManyStreams` at the start."""
        received = self._listen(about, account_id, seconds, rest_seconds)
        # The stream is counted from here on, until the caller closes the generator.
        await anext(received)
        return received

    def close(self) -> None:
        """Ends all streams, and accepts no new ones."""
        self._is_closed = True
        for watch in self._watches.values():
            watch.changed.set()

    async def _listen(
        self, about: About, account_id: int, seconds: float, rest_seconds: float
    ) -> AsyncGenerator[Now | None, None]:
        """The first None only starts the generator."""
        loop = asyncio.get_running_loop()
        with self._count(account_id):  # before the store is asked for anything
            now = await self._look(about)
            with await self._hold_slot(account_id, seconds):
                yield None
                end = loop.time() + seconds
                with self._watch(about, now) as watch:
                    yield now
                    while not self._is_closed and (left := end - loop.time()) > 0:
                        if watch.now != now:
                            now = watch.now
                            yield now
                        elif not await watch.has_changed(min(rest_seconds, left)):
                            yield None

    @contextmanager
    def _count(self, account_id: int) -> Iterator[None]:
        if self._is_closed or self._accounts.total() >= self._max_listeners:
            raise ListenersFull(
                "The server has reached its limit of live streams. Try again later."
            )
        if self._accounts[account_id] >= self._max_of_account:
            raise _too_many()
        self._accounts[account_id] += 1
        try:
            yield
        finally:
            self._accounts[account_id] -= 1
            self._accounts += Counter()  # removes accounts without streams

    async def _hold_slot(self, account_id: int, seconds: float) -> AbstractContextManager[None]:
        if self._slots is None or seconds <= 0:
            return nullcontext()
        slot = await self._slots.take(account_id)
        if slot is None:
            raise _too_many()
        return slot

    @contextmanager
    def _watch(self, about: About, now: Now) -> Iterator["_Watch"]:
        watch = self._join(about, now)
        try:
            yield watch
        finally:
            self._leave(about, watch)

    def _join(self, about: About, now: Now) -> "_Watch":
        watch = self._watches.get(about)
        if watch is None:
            watch = self._watches[about] = _Watch(now)
            watch.task = asyncio.create_task(self._follow(about, watch))
        watch.listeners += 1
        return watch

    def _leave(self, about: About, watch: "_Watch") -> None:
        watch.listeners -= 1
        if not watch.listeners:
            del self._watches[about]
            watch.task.cancel()

    async def _follow(self, about: About, watch: "_Watch") -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                now = await self._look(about, watch.now)
            except StoreUnavailable as error:
                _log.info("live statistics paused", cause=error.detail)
                continue
            if now != watch.now:
                watch.tell(now)

    async def _look(self, about: About, before: Now | None = None) -> Now:
        """Individual clicks are read only if there are more than before."""
        today = self._clock.micros() // DAY_MICROS
        all_clicks, _ = await self._store.totals(about.subject)
        if before is not None and (before.today, before.all_clicks) == (today, all_clicks):
            return before
        days = await self._store.days(about.subject, range(today, today + 1), with_counts=False)
        numbers = Numbers(0, 0, 0)
        for day in days:
            numbers = Numbers(day.people, day.clicks - day.people, day.visitors)
        newest = await self._store.newest(about, today, NEWEST)
        return Now(today, numbers, all_clicks, await name(newest, about, self._store))


def _too_many() -> TooManyStreams:
    return TooManyStreams("This account has reached its limit of live streams. Close one first.")


class _Watch:
    """The numbers of one subject, and its listeners."""

    task: asyncio.Task[None]

    def __init__(self, now: Now) -> None:
        self.now = now
        self.listeners = 0
        self.changed = asyncio.Event()

    def tell(self, now: Now) -> None:
        self.now = now
        self.changed.set()
        self.changed = asyncio.Event()

    async def has_changed(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.changed.wait()
        except TimeoutError:
            return False
        return True
