"""How much slow work a worker does at once. Requests above the limit are refused immediately;
otherwise everything, including redirects, would wait for them."""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from enum import Enum, StrEnum, auto

import structlog

from kurz.asgi import OVERLOADED, AsgiApp, Message, Receive, Scope, Send
from kurz.errors import Overloaded, problem

LOG_SECONDS = 10.0  # between two log lines

_SHORT_DIGITS = 4  # of a length in bytes

_LINKS = "/links"
_CREATES = frozenset({"/", "/api/urls", "/api/urls/public", "/api/urls/sync", "/api/v1/claims"})
_MANY = "/links/bulk"
_TRANSFERS = ("/export", "/import")
# Sign-ins have their own queue, and the rest is fast.
_FREE = ("/api/v1/auth/", "/api/auth/", "/api/docs", "/api/problems/", "/api/openapi.json")
_STREAM = "/stats/live"
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})

log = structlog.get_logger()


class WorkKind(StrEnum):
    CREATES = "creates"
    TRANSFERS = "transfers"  # imports and exports, which may take long
    REQUESTS = "requests"  # everything else the API does


# How much of it is done at once. A create takes half a millisecond of the loop's time, a list up to
# five. A transfer gives way by itself, and must not wait for the end of another.
AT_ONCE = {WorkKind.CREATES: 16, WorkKind.TRANSFERS: 1000, WorkKind.REQUESTS: 16}


# Open transfers for each one in progress: those whose clients send or read slowly keep a piece of a
# file in memory.
OPEN_TRANSFERS = 8


def work_of(method: str, path: str) -> WorkKind | None:
    """None: it is not counted."""
    if not path.startswith("/api/"):
        return WorkKind.CREATES if path == "/" else None  # the others are probes
    if path.startswith(_FREE):
        return None
    if path.endswith(_TRANSFERS):
        return WorkKind.TRANSFERS
    if method == "POST" and (path in _CREATES or path.endswith((_LINKS, _MANY))):
        return WorkKind.CREATES
    return WorkKind.REQUESTS


class Slots:
    """The limit for work of one kind. Only so much is done at once that a turn of the loop stays
    short; some more waits, so that a burst is not refused."""

    def __init__(self, most: int, at_once: int) -> None:
        self.most = most
        self.in_flight = 0
        self.refused = 0
        self._coming = 0
        self._turns = asyncio.Semaphore(min(at_once, most))

    @property
    def are_taken(self) -> bool:
        return self.in_flight >= self.most

    def expect(self) -> bool:
        """Whether there is a slot for a request whose task starts in the next turn of the loop."""
        if self.in_flight + self._coming >= self.most:
            return False
        if not self._coming:
            asyncio.get_running_loop().call_soon(self._expect_none)
        self._coming += 1
        return True

    def _expect_none(self) -> None:
        self._coming = 0

    async def take(self) -> None:
        """Not to be called if all slots are taken. Returns when it is this request's turn."""
        self.in_flight += 1
        try:
            await self._turns.acquire()
        except BaseException:
            self.in_flight -= 1
            raise

    def give_back(self) -> None:
        self.in_flight -= 1
        self._turns.release()


class Stay:
    """The slot of one request, which it may leave and enter again."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._is_in = False

    async def enter(self) -> None:
        await self._slots.take()
        self._is_in = True

    def leave(self) -> bool:
        """Whether it was in."""
        if not self._is_in:
            return False
        self._is_in = False
        self._slots.give_back()
        return True


class BoundedWork:
    """An application with a limit for each kind of work in progress."""

    def __init__(self, app: AsgiApp, most: Mapping[WorkKind, int]) -> None:
        self._app = app
        self._slots = {work: Slots(most[work], AT_ONCE[work]) for work in WorkKind}
        self._open_transfers = 0
        self._logged_at = -LOG_SECONDS
        self._unlogged = 0
        self._bodies = {work: _body(work) for work in WorkKind}

    def counts(self) -> dict[str, int]:
        counts = {f"{work}_in_flight": slots.in_flight for work, slots in self._slots.items()}
        refused = {f"{work}_refused": slots.refused for work, slots in self._slots.items()}
        return counts | refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        work = work_of(scope["method"], scope["path"])
        if work is None:
            await self._app(scope, receive, send)
        elif self._slots[work].are_taken:
            await self._refuse(work, scope, send)
        elif work is WorkKind.TRANSFERS:
            await self._run_transfer(scope, receive, send)
        elif scope["method"] in _WITH_BODY:
            await self._run_with_body(work, scope, receive, send)
        elif scope["path"].endswith(_STREAM):
            await self._run_stream(work, scope, receive, send)
        else:
            await self._run(work, scope, receive, send)

    def work_without_slot(self, method: str, path: str) -> WorkKind | None:
        """The kind of work as which a new request would be refused; None: there is a slot for
        it."""
        work = work_of(method, path)
        return None if work is None or self._slots[work].expect() else work

    def refuse(self, work: WorkKind) -> bytes:
        """Counts a refusal, and returns its body."""
        self._note(work)
        return self._bodies[work]

    async def _run(self, work: WorkKind, scope: Scope, receive: Receive, send: Send) -> None:
        slots = self._slots[work]
        await slots.take()
        try:
            await self._app(scope, receive, send)
        finally:
            slots.give_back()

    async def _run_with_body(
        self, work: WorkKind, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Does not count while the body arrives: a client that sends slowly blocks nobody."""
        body = _body_of(scope["headers"])
        if body is _Body.NONE:
            await self._run(work, scope, receive, send)
            return
        if body is _Body.LONG:
            await self._run_long(work, scope, receive, send)
            return
        first = await receive()
        replayed = _replay(first, receive)
        if self._slots[work].are_taken:
            await self._refuse(work, scope, send)
        elif first.get("more_body", False):
            await self._run_long(work, scope, replayed, send)
        else:  # it waits here, before the application spends any time on it
            await self._run(work, scope, replayed, send)

    async def _run_long(self, work: WorkKind, scope: Scope, receive: Receive, send: Send) -> None:
        """The application reads the body while it arrives, and may refuse it before its end. Many
        routes never read it, and it is not known which. So the request counts until the application
        first asks for the body, and again when the body is complete."""
        stay = Stay(self._slots[work])
        await stay.enter()
        try:
            await self._app(scope, self._counted(work, scope, receive, stay), send)
        finally:
            stay.leave()

    async def _run_stream(self, work: WorkKind, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts until the answer begins: open streams have their own limits."""
        stay = Stay(self._slots[work])

        async def send_outside(message: Message) -> None:
            stay.leave()
            await send(message)

        await stay.enter()
        try:
            await self._app(scope, receive, send_outside)
        finally:
            stay.leave()

    async def _run_transfer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts only while it is worked on: a client that sends or reads a file slowly blocks
        nobody."""
        work = WorkKind.TRANSFERS
        slots = self._slots[work]
        if self._open_transfers >= OPEN_TRANSFERS * slots.most:
            await self._refuse(work, scope, send)
            return
        stay = Stay(slots)

        async def send_outside(message: Message) -> None:
            # A request that is answered before its body is complete does not enter again.
            was_in = stay.leave()
            await send(message)
            goes_on = message["type"] == "http.response.start" or message.get("more_body", False)
            if was_in and goes_on:
                await stay.enter()

        self._open_transfers += 1
        try:
            if scope["method"] in _WITH_BODY:
                receive = self._counted(work, scope, receive, stay)
            else:
                await stay.enter()
            await self._app(scope, receive, send_outside)
        finally:
            self._open_transfers -= 1
            stay.leave()

    def _counted(self, work: WorkKind, scope: Scope, receive: Receive, stay: Stay) -> Receive:
        """Does not count while the body arrives. Enters with its last piece, or refuses it then."""
        is_whole = False

        async def receive_whole() -> Message:
            nonlocal is_whole
            if is_whole:
                return await receive()
            stay.leave()
            message = await receive()
            if not message.get("more_body", False):
                if self._slots[work].are_taken:
                    self._note(work)
                    scope[OVERLOADED] = True
                    raise _overloaded(work)
                await stay.enter()
                is_whole = True
            return message

        return receive_whole

    async def _refuse(self, work: WorkKind, scope: Scope, send: Send) -> None:
        scope[OVERLOADED] = True
        body = self.refuse(work)
        await send({"type": "http.response.start", "status": 503, "headers": _headers(body)})
        await send({"type": "http.response.body", "body": body})

    def _note(self, work: WorkKind) -> None:
        self._slots[work].refused += 1
        self._unlogged += 1
        now = time.monotonic()
        if now - self._logged_at >= LOG_SECONDS:
            in_flight = {work.value: slots.in_flight for work, slots in self._slots.items()}
            log.warning("overloaded: refusing requests", refused=self._unlogged, **in_flight)
            self._logged_at, self._unlogged = now, 0


class _Body(Enum):
    NONE = auto()
    SHORT = auto()  # arrives with its head, as most do
    LONG = auto()


def _body_of(headers: Iterable[tuple[bytes, bytes]]) -> _Body:
    size = None
    for name, value in headers:
        if name in (b"transfer-encoding", b"expect"):
            return _Body.LONG  # otherwise the client waits until it is asked for
        if name == b"content-length":
            size = value
    if size is None:
        return _Body.NONE
    return _Body.SHORT if len(size) <= _SHORT_DIGITS else _Body.LONG


def _replay(first: Message, receive: Receive) -> Receive:
    """As if the first message had not been received yet."""
    waiting = [first]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


def _overloaded(work: WorkKind) -> Overloaded:
    return Overloaded(
        f"Too many {work} are in progress. Nothing was changed. Try again in"
        f" {Overloaded.retry_after_seconds} second."
    )


def _body(work: WorkKind) -> bytes:
    return json.dumps(problem(_overloaded(work), 503)).encode()


HEADERS = (
    (b"content-type", b"application/problem+json"),
    (b"retry-after", b"%d" % Overloaded.retry_after_seconds),
    (b"cache-control", b"no-store"),
)


def _headers(body: bytes) -> list[tuple[bytes, bytes]]:
    return [
        *HEADERS,
        (b"content-length", b"%d" % len(body)),
    ]
