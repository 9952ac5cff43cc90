"""Which password is hashed next: fair between addresses, with places reserved for known devices."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from kurz.people.errors import SignInBusy
from kurz.people.recent import Recent

# Of each kind of device. At a quarter of a second a hash the last one waits for 16 s, or 32 s while
# the other line is full as well: within the time that browsers and most proxies wait for an answer.
MAX_WAITING = 64
LATELY_SECONDS = 60.0
FIRST_IN_A_ROW = 2  # turns of addresses not served recently, while others wait too

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asker:
    """Who waits for a hash: an address, and whether it is known: a device that signed in to this
    account before, a signed-in person, or the holder of a one-time link."""

    address: str = ""
    is_known: bool = False


NOBODY = Asker()


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], Any]
    answer: "asyncio.Future[Any]"


class FairLine:
    """One queue for each address, served in turn: an address with many requests waits longer than
    one with a single request. Addresses that were not served recently go first, so that a few busy
    ones do not delay them; the others get every third turn.

    A full line makes room by dropping the last request of the longest queue for an address with
    fewer requests, or the last request of a recently served address for one that was not."""

    def __init__(self, most: int = MAX_WAITING) -> None:
        self._most = most
        self._first: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._others: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._served: Recent[str, bool] = Recent(LATELY_SECONDS)
        self._passed_over = 0  # turns in a row that the others waited for
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def has_room(self, address: str) -> bool:
        return self._size < self._most or self._loser(address) is not None

    def push(self, address: str, job: _Job) -> _Job | None:
        """Call it only if there is room. Returns the job that was dropped for it."""
        dropped = None
        if self._size >= self._most and (loser := self._loser(address)) is not None:
            dropped = self._drop(loser)
        is_first = address in self._first or self._is_new(address)
        queues = self._first if is_first else self._others
        queues.setdefault(address, deque()).append(job)
        self._size += 1
        return dropped

    def pop(self) -> _Job:
        is_others = not self._first or (bool(self._others) and self._passed_over >= FIRST_IN_A_ROW)
        self._passed_over = 0 if is_others or not self._others else self._passed_over + 1
        address, queue = (self._others if is_others else self._first).popitem(last=False)
        self._served.keep(address, value=True)
        job = queue.popleft()
        self._size -= 1
        if queue:
            self._others[address] = queue
        return job

    def _is_new(self, address: str) -> bool:
        """Neither waiting nor served recently."""
        is_waiting = address in self._first or address in self._others
        return not is_waiting and self._served.peek(address) is None

    def _loser(self, address: str) -> str | None:
        """The address whose last job a full line drops for one of this address."""
        queues = self._first | self._others
        longest = max(queues, key=lambda one: len(queues[one]))
        if len(queues.get(address, ())) + 1 < len(queues[longest]):
            return longest
        # No queue is long, so it is the one whose turn would come last.
        return next(reversed(self._others), None) if self._is_new(address) else None

    def _drop(self, address: str) -> _Job:
        queues = self._first if address in self._first else self._others
        job = queues[address].pop()
        self._size -= 1
        if not queues[address]:
            del queues[address]
        return job


class HashQueue:
    """Passes work to a pool of threads. Known devices and all others have a line each. While both
    wait, each gets every second turn: neither can starve the other."""

    def __init__(self, pool: ThreadPoolExecutor, threads: int, most: int = MAX_WAITING) -> None:
        self._pool = pool
        self._free = threads
        self._lines = {is_known: FairLine(most) for is_known in (True, False)}
        self._is_known_next = True

    def check_room(self, asker: Asker) -> None:
        """Raises `SignInBusy` if the line is full, before any other work is done."""
        if not self._free and not self._lines[asker.is_known].has_room(asker.address):
            raise _busy()

    async def run(self, asker: Asker, work: Callable[[], T]) -> T:
        """Continues if the caller disconnects: otherwise that would be a way around the limit."""
        self.check_room(asker)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_look)
        job = _Job(work, answer)
        if self._free:
            self._start(job)
        else:
            dropped = self._lines[asker.is_known].push(asker.address, job)
            if dropped is not None and not dropped.answer.done():
                dropped.answer.set_exception(_busy())
        return await asyncio.shield(answer)

    def _start(self, job: _Job) -> None:
        self._free -= 1
        running = asyncio.get_running_loop().run_in_executor(self._pool, job.work)
        running.add_done_callback(lambda done: self._end(job, done))

    def _end(self, job: _Job, done: "asyncio.Future[Any]") -> None:
        self._free += 1
        if not done.cancelled() and (line := self._next_line()) is not None:
            self._start(line.pop())
        if job.answer.done():
            return
        if done.cancelled():
            job.answer.cancel()
        elif (error := done.exception()) is not None:
            job.answer.set_exception(error)
        else:
            job.answer.set_result(done.result())

    def _next_line(self) -> FairLine | None:
        for is_known in (self._is_known_next, not self._is_known_next):
            if self._lines[is_known]:
                self._is_known_next = not is_known
                return self._lines[is_known]
        return None


def _busy() -> SignInBusy:
    return SignInBusy("Too many sign-ins are in progress. Try again in a few seconds.")


def _look(answer: "asyncio.Future[Any]") -> None:
    """The caller may have disconnected. Reading the error keeps asyncio from reporting it."""
    if not answer.cancelled():
        answer.exception()
