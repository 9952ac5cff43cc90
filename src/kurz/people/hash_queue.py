"""Whose password is hashed next: fair between addresses, with a reserve for known devices."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from kurz.people.errors import SignInBusy
from kurz.people.recent import Recent

# Of each kind of device. At a quarter of a second a hash the last one waits for 16 s, within the
# time that browsers and proxies wait for an answer.
MAX_WAITING = 64
LATELY_SECONDS = 60.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asker:
    """Who waits for a hash: an address; and whether it is a device that signed in to this account
    before."""

    address: str = ""
    is_known: bool = False


NOBODY = Asker()


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], Any]
    answer: "asyncio.Future[Any]"


class FairLine:
    """One queue for each address, served in turn: an address with many requests waits longer than
    one with a single request. Addresses that were not served lately go first, so that a few that
    ask all the time do not delay the others. A full line makes room for an address with fewer
    requests by dropping the last request of the longest queue."""

    def __init__(self, most: int = MAX_WAITING) -> None:
        self._most = most
        self._first: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._queues: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._served: Recent[str, bool] = Recent(LATELY_SECONDS)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def has_room(self, address: str) -> bool:
        own = len(self._first.get(address, ())) + len(self._queues.get(address, ()))
        return self._size < self._most or own + 1 < len(self._longest())

    def push(self, address: str, job: _Job) -> _Job | None:
        """Call it only if there is room. Returns the job that was dropped for it."""
        dropped = None
        if self._size >= self._most:
            dropped = self._longest().pop()  # it holds two or more: else there was no room
            self._size -= 1
        is_first = address in self._first or (
            address not in self._queues and self._served.peek(address) is None
        )
        queues = self._first if is_first else self._queues
        queues.setdefault(address, deque()).append(job)
        self._size += 1
        return dropped

    def pop(self) -> _Job:
        address, queue = (self._first or self._queues).popitem(last=False)
        self._served.keep(address, value=True)
        job = queue.popleft()
        self._size -= 1
        if queue:
            self._queues[address] = queue
        return job

    def _longest(self) -> deque[_Job]:
        return max((*self._first.values(), *self._queues.values()), key=len)


class HashQueue:
    """Hands work to a pool of threads. Known devices and all others have a line each, and while
    both wait, each gets every second turn: neither can starve the other."""

    def __init__(self, pool: ThreadPoolExecutor, threads: int, most: int = MAX_WAITING) -> None:
        self._pool = pool
        self._free = threads
        self._lines = {is_known: FairLine(most) for is_known in (True, False)}
        self._is_known_next = True

    @property
    def is_idle(self) -> bool:
        return not any(self._lines.values())

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
    return SignInBusy("Too many people are signing in at the moment. Try again in a few seconds.")


def _look(answer: "asyncio.Future[Any]") -> None:
    """The caller may have disconnected. Reading the error keeps asyncio from reporting it."""
    if not answer.cancelled():
        answer.exception()
