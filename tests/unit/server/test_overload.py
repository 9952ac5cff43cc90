"""How much slow work is done at once, and what counts as such."""

import asyncio
import json
from typing import Any

import pytest

from kurz.asgi import OVERLOADED
from kurz.errors import Overloaded
from kurz.server.overload import AT_ONCE, OPEN_TRANSFERS, BoundedWork, WorkKind, work_of

LIMITS = {WorkKind.CREATES: 2, WorkKind.TRANSFERS: 1, WorkKind.REQUESTS: 3}


class Api:
    """Reads the body, and answers when it is told to."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.begun = 0
        self.most_at_once = 0
        self._at_once = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body", False):
            pass
        self.begun += 1
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        await self.may_end.wait()
        self._at_once -= 1
        if scope.get("fails"):
            raise ValueError("failed")
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b""})


class Caller:
    """One request, whose body comes in these pieces when the event before each is set."""

    def __init__(
        self, app: BoundedWork, method: str = "POST", path: str = "/api/v1/links", size: int = 2
    ) -> None:
        self.pieces: asyncio.Queue[tuple[bytes, bool]] = asyncio.Queue()
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        fields = [(b"content-length", b"%d" % size)] if method == "POST" else []
        self.scope: dict[str, Any] = {"method": method, "path": path, "headers": fields}
        self._app = app

    async def run(self) -> None:
        await self._app(self.scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        body, is_last = await self.pieces.get()
        return {"type": "http.request", "body": body, "more_body": not is_last}

    async def _send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.headers |= dict(message.get("headers", []))
        self.body += message.get("body", b"")


async def start(*callers: Caller, whole: bool = True) -> list["asyncio.Task[None]"]:
    tasks = []
    for caller in callers:
        if whole:
            caller.pieces.put_nowait((b"{}", True))
        tasks.append(asyncio.create_task(caller.run()))
    await asyncio.sleep(0.01)
    return tasks


@pytest.mark.parametrize(
    ("method", "path", "work"),
    [
        ("POST", "/", WorkKind.CREATES),
        ("POST", "/api/v1/links", WorkKind.CREATES),
        ("POST", "/api/v1/workspaces/7/links", WorkKind.CREATES),
        ("POST", "/api/v1/links/bulk", WorkKind.CREATES),
        ("POST", "/api/urls/public", WorkKind.CREATES),
        ("POST", "/api/v1/links/import", WorkKind.TRANSFERS),
        ("GET", "/api/v1/workspaces/7/links/export", WorkKind.TRANSFERS),
        ("POST", "/api/v1/links/export", WorkKind.TRANSFERS),
        ("GET", "/api/v1/links", WorkKind.REQUESTS),
        ("GET", "/api/v1/me/stats", WorkKind.REQUESTS),
        ("PATCH", "/api/v1/links/5", WorkKind.REQUESTS),
        ("GET", "/api/v1/me/stats/live", WorkKind.REQUESTS),
        ("POST", "/api/v1/auth/login", None),
        ("GET", "/readyz", None),
    ],
)
def test_what_counts_as_what(method, path, work):
    assert work_of(method, path) is work


async def test_what_is_above_gets_503_and_the_next_one_a_place_again():
    api = Api()
    app = BoundedWork(api, LIMITS)
    callers = [Caller(app) for _ in range(3)]
    tasks = await start(*callers)
    assert [caller.status for caller in callers] == [0, 0, 503]
    assert callers[2].headers[b"retry-after"] == b"1"
    assert json.loads(callers[2].body)["type"] == "/api/problems/overloaded"
    assert OVERLOADED in callers[2].scope
    assert app.counts()["creates_in_flight"] == 2
    api.may_end.set()
    await asyncio.gather(*tasks)
    late = Caller(app)
    await asyncio.gather(*await start(late))
    assert late.status == 201
    counts = app.counts()
    assert (counts["creates_in_flight"], counts["creates_refused"]) == (0, 1)


async def test_kinds_of_work_do_not_keep_each_other_out():
    app = BoundedWork(Api(), LIMITS)
    callers = [Caller(app) for _ in range(2)] + [Caller(app, "GET") for _ in range(4)]
    tasks = await start(*callers)
    assert [caller.status for caller in callers] == [0, 0, 0, 0, 0, 503]
    for task in tasks:
        task.cancel()


async def test_a_few_are_worked_on_and_the_rest_wait_for_their_turn():
    api = Api()
    most = 3 * AT_ONCE[WorkKind.CREATES]
    app = BoundedWork(api, {**LIMITS, WorkKind.CREATES: most})
    callers = [Caller(app) for _ in range(most)]
    tasks = await start(*callers)
    assert api.begun == AT_ONCE[WorkKind.CREATES]
    tasks[-1].cancel()  # a client that leaves while it waits
    api.may_end.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert api.most_at_once == AT_ONCE[WorkKind.CREATES]
    assert [caller.status for caller in callers] == [201] * (most - 1) + [0]
    assert app.counts()["creates_in_flight"] == 0


@pytest.mark.parametrize("size", [4, 100_000])
async def test_one_whose_body_is_not_whole_takes_no_place(size):
    api = Api()
    app = BoundedWork(api, LIMITS)
    slow = [Caller(app, size=size) for _ in range(3)]
    tasks = await start(*slow, whole=False)
    for caller in slow:
        caller.pieces.put_nowait((b"{", False))
    quick = [Caller(app) for _ in range(2)]
    tasks += await start(*quick)
    assert api.begun == 2
    slow[0].pieces.put_nowait((b"}", True))
    with pytest.raises(Overloaded):
        await tasks[0]
    api.may_end.set()
    await asyncio.gather(*tasks[3:])
    assert [caller.status for caller in quick] == [201, 201]
    for caller in slow[1:]:
        caller.pieces.put_nowait((b"}", True))
    await asyncio.gather(*tasks[1:3])
    assert app.counts()["creates_in_flight"] == 0


async def test_one_that_fails_gives_its_place_back():
    api = Api()
    api.may_end.set()
    app = BoundedWork(api, LIMITS)
    failing = Caller(app)
    failing.scope["fails"] = True
    [task] = await start(failing)
    with pytest.raises(ValueError, match="failed"):
        await task
    assert app.counts()["creates_in_flight"] == 0


async def test_a_file_that_is_sent_slowly_takes_no_place():
    api = Api()
    api.may_end.set()
    app = BoundedWork(api, LIMITS)
    path = "/api/v1/links/import"
    slow, quick = Caller(app, path=path, size=5000), Caller(app, path=path, size=5000)
    tasks = await start(slow, whole=False)
    slow.pieces.put_nowait((b"{", False))
    await asyncio.gather(*await start(quick))
    assert quick.status == 201
    others = [Caller(app, path=path, size=5000) for _ in range(OPEN_TRANSFERS - 1)]
    tasks += await start(*others, whole=False)
    await asyncio.gather(*await start(refused := Caller(app, path=path)))
    assert refused.status == 503
    for caller in slow, *others:
        caller.pieces.put_nowait((b"}", True))
        await asyncio.sleep(0.01)
    await asyncio.gather(*tasks)
    assert [caller.status for caller in (slow, *others)] == [201] * OPEN_TRANSFERS
    assert app.counts()["transfers_in_flight"] == 0


async def test_a_file_that_is_read_slowly_takes_no_place():
    goes_on = asyncio.Event()

    async def export(scope: Any, _: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        assert app.counts()["transfers_in_flight"] == 1
        await send({"type": "http.response.body", "body": b"1", "more_body": True})
        assert app.counts()["transfers_in_flight"] == 1
        await send({"type": "http.response.body", "body": b"2"})

    class SlowReader(Caller):
        async def _send(self, message: Any) -> None:
            if message.get("body"):
                await goes_on.wait()
            await super()._send(message)

    app = BoundedWork(export, LIMITS)
    path = "/api/v1/links/export"
    slow, gone, quick = (kind(app, "GET", path) for kind in (SlowReader, SlowReader, Caller))
    tasks = await start(slow, gone)
    tasks[1].cancel()
    await asyncio.gather(*await start(quick))
    assert (quick.status, quick.body) == (200, b"12")
    goes_on.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (slow.body, gone.body) == (b"12", b"")
    assert app.counts()["transfers_in_flight"] == 0


async def answer(status: int, send: Any) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("status", [413, 503])
async def test_a_file_that_is_refused_does_not_wait_for_the_others(status):
    """By the application, at its first piece, or with its last one, because no place is free."""
    api = Api()

    async def refuse_some(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("is_too_large"):
            await receive()
            await answer(413, send)
            return
        try:
            await api(scope, receive, send)
        except Overloaded:
            await answer(503, send)

    app = BoundedWork(refuse_some, LIMITS)
    path = "/api/v1/links/import"
    refused, running = Caller(app, path=path, size=5000), Caller(app, path=path, size=5000)
    refused.scope["is_too_large"] = status == 413
    [upload] = await start(refused, whole=False)
    [running_task] = await start(running)
    refused.pieces.put_nowait((b"{", False))
    refused.pieces.put_nowait((b"}", True))
    async with asyncio.timeout(5):
        await upload
    assert (refused.status, running.status) == (status, 0)
    api.may_end.set()
    await running_task
    assert running.status == 201
    assert app.counts()["transfers_in_flight"] == 0


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"content-length", b"0")],
        [(b"content-length", b"100000")],
        [(b"content-length", b"2"), (b"expect", b"100-continue")],
        [(b"transfer-encoding", b"chunked")],
    ],
)
async def test_work_that_does_not_need_the_body_counts(headers):
    may_end = asyncio.Event()

    async def check(scope: Any, receive: Any, send: Any) -> None:
        await may_end.wait()
        await answer(202, send)

    app = BoundedWork(check, LIMITS)
    callers = [Caller(app, path="/api/v1/links/5/checks") for _ in range(4)]
    for caller in callers:
        caller.scope["headers"] = headers
    tasks = await start(*callers, whole=headers == [(b"content-length", b"0")])
    assert [caller.status for caller in callers] == [0, 0, 0, 503]
    assert app.counts()["requests_in_flight"] == 3
    may_end.set()
    await asyncio.gather(*tasks)
    assert [caller.status for caller in callers] == [202, 202, 202, 503]
    assert app.counts()["requests_in_flight"] == 0


async def test_a_live_stream_counts_until_its_answer_begins():
    may_begin, may_end = asyncio.Event(), asyncio.Event()

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await may_begin.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await may_end.wait()
        await send({"type": "http.response.body", "body": b"data"})

    app = BoundedWork(stream, LIMITS)
    callers = [Caller(app, "GET", "/api/v1/me/stats/live") for _ in range(4)]
    tasks = await start(*callers)
    assert [caller.status for caller in callers] == [0, 0, 0, 503]
    may_begin.set()
    more = [Caller(app, "GET", "/api/v1/me/stats/live") for _ in range(4)]
    await asyncio.sleep(0.01)
    tasks += await start(*more)
    assert [caller.status for caller in more] == [200] * 4
    assert app.counts()["requests_in_flight"] == 0
    may_end.set()
    await asyncio.gather(*tasks)
    assert [caller.body for caller in more] == [b"data"] * 4
    assert app.counts()["requests_in_flight"] == 0
