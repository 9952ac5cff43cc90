"""HTTP to the byte: the fast lane and the ASGI path give the same answers, in pieces and in
pipelines, in order."""

import asyncio
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from support import http
from support.http import EMAIL, Answer, Line, converse, from_where_they_differ, get, request
from support.people import PASSWORD
from support.program import Program
from support.requests import corpus

MIXED_REQUESTS = 250
AT_ONCE = 24  # conversations
ORDINARY = get("/live")


@pytest.fixture(scope="module", params=["embedded", "cold"])
def programs(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[str, Program]]:
    """With and without the fast lane. Whatever they are sent, neither may find a mistake of its
    own, and both must still serve. Cold ones have a memory for one link, and ask PostgreSQL."""
    folder = tmp_path_factory.mktemp("http")
    if request.param == "embedded":
        programs = http.start_pair(folder)
    else:
        patient = {"KURZ_DATABASE_LOOKUP_MILLISECONDS": "15000"}
        postgres = request.getfixturevalue("postgres")
        programs = http.start_pair(folder, postgres, KURZ_HOT_LINKS="1", **patient)
    yield programs
    for program in programs.values():
        with program.client(headers={"host": "kurz.test"}) as client:
            assert client.get("/live").status_code == 302
        program.stop()
        http.check_log(program)


async def test_the_lane_and_the_asgi_path_answer_alike(programs):
    turns = asyncio.Semaphore(AT_ONCE)
    differing = []

    async def compare(data: bytes) -> None:
        async with turns:
            for script in ((data, data, ORDINARY), (ORDINARY, data, data, ORDINARY)):
                for seconds in 1.0, 10.0, 10.0:  # a busy machine may be silent, or say 503
                    on, off = await asyncio.gather(
                        *(converse(program, script, seconds) for program in programs.values())
                    )
                    if on == off:
                        break
                    await asyncio.sleep(seconds / 2)
                else:
                    differing.append((data[:300], *from_where_they_differ(on, off)))

    await asyncio.gather(*(compare(data) for data in corpus(seed=1, mixed=MIXED_REQUESTS)))
    assert not differing, (len(differing), differing[:3])


async def hit(line: Line, code: str = "live") -> None:
    answer = await line.ask(get(f"/{code}"))
    assert answer.status == 302
    assert answer.header("location") == _location(code)


def _location(code: str) -> str:
    return http.URL + code.removeprefix("live")


@pytest.fixture(params=["on", "off"])
def program(programs: dict[str, Program], request: pytest.FixtureRequest) -> Program:
    return programs[request.param]


@pytest.mark.parametrize("data", [ORDINARY, get("/unknown", "Accept: text/html")])
async def test_a_request_in_two_pieces_is_answered_like_a_whole_one(program, data):
    async def compare(position: int) -> None:
        async with await Line.open(program) as line:
            whole = await line.ask(data)  # the lane knows this head by now
            for _ in range(2):
                await line.send(data[:position])
                await asyncio.sleep(0.01)
                cut = await line.ask(data[position:])
                assert _same(cut, whole), position
            await hit(line)
            assert _same(await line.ask(data), whole)

    await asyncio.gather(*(compare(position) for position in range(1, len(data))))


async def test_a_request_byte_by_byte_is_answered_like_a_whole_one(program):
    async with await Line.open(program) as line:
        for _ in range(3):
            for position in range(len(ORDINARY)):
                await line.send(ORDINARY[position : position + 1])
                await asyncio.sleep(0.001)
            answer = await line.answer()
            assert answer is not None
            assert (answer.status, answer.header("location")) == (302, http.URL)
            await hit(line, "live-1")


# Without a Host: the rest brings it.
BEGUN = b"GET /live-1 HTTP/1.1\r\nX: "


async def test_the_rest_of_a_head_is_no_request_even_if_it_looks_like_one(program):
    async with await Line.open(program) as line:
        await hit(line)
        for before, status in [(b"", 0), (get("/api/v1/links/none"), 401), (ORDINARY, 302)]:
            await line.send(before + BEGUN)
            if before:
                await Expected(before, status, http.URL if status == 302 else None).check(line)
            await asyncio.sleep(0.05)
            answer = await line.ask(get("/live-2"))
            assert answer.header("location") == _location("live-1")
        await hit(line, "live-3")


def _same(one: Answer, other: Answer) -> bool:
    return http.comparable(one.head + one.body) == http.comparable(other.head + other.body)


SIGN_IN = b'{"email": "%s", "password": "%s"}' % (EMAIL.encode(), PASSWORD.encode())


def sign_in() -> bytes:
    """Takes longer than anything else."""
    return request(
        "POST /api/v1/auth/sign-in HTTP/1.1",
        "Host: kurz.test",
        "Content-Type: application/json",
        f"Content-Length: {len(SIGN_IN)}",
        body=SIGN_IN,
    )


@dataclass(frozen=True)
class Expected:
    """A request, and what its answer must say."""

    data: bytes
    status: int
    location: str | None = None

    async def check(self, line: Line) -> None:
        answer = await line.answer(has_body=not self.data.startswith(b"HEAD "))
        assert answer is not None, self.data
        assert (answer.status, answer.header("location")) == (self.status, self.location)


def _draw(dice: random.Random) -> Expected:
    code = f"live-{dice.randrange(20)}"
    return dice.choice(
        [
            Expected(get(f"/{code}"), 302, _location(code)),
            Expected(get(f"/{code}?a=1"), 302, _location(code)),
            Expected(get(f"/{code}", method="HEAD"), 302, _location(code)),
            Expected(get(f"/{code}", "Content-Length: 3") + b"abc", 302, _location(code)),
            Expected(get("/unknown"), 404),
            Expected(get("/expired", "Accept: text/html"), 410),
            Expected(get("/unknown", method="HEAD"), 404),
            Expected(get("/api/v1/links/none"), 401),
            Expected(get("/healthz"), 200),
            Expected(get("/live", "Host: kurz.test"), 400),
            Expected(get("/live", method="POST"), 405),
        ]
    )


@pytest.mark.parametrize("seed", range(6))
async def test_pipelined_requests_are_answered_in_order(program, seed):
    dice = random.Random(seed)
    async with await Line.open(program) as line:
        for _ in range(4):
            expected = [_draw(dice) for _ in range(50)]
            await line.send(b"".join(each.data for each in expected))
            for each in expected:
                await each.check(line)


@pytest.mark.parametrize("seed", range(6))
async def test_requests_that_do_not_wait_for_answers_are_answered_in_order(program, seed):
    """In chunks of their own, and in pieces that begin and end anywhere."""
    dice = random.Random(seed)
    async with await Line.open(program) as line:
        await hit(line)
        for whole in (True, False):
            expected = [_draw(dice) for _ in range(60)]
            pieces = [each.data for each in expected]
            if not whole:
                data = b"".join(pieces)
                cuts = sorted(dice.sample(range(1, len(data)), 40))
                pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]

            async def send(pieces: list[bytes] = pieces) -> None:
                for piece in pieces:
                    await line.send(piece)
                    await asyncio.sleep(dice.choice([0, 0, 0.001, 0.004]))

            sending = asyncio.create_task(send())
            for each in expected:
                await each.check(line)
            await sending


async def test_a_hit_waits_for_the_slow_answer_before_it(program):
    dice = random.Random(7)
    async with await Line.open(program) as line:
        await hit(line)
        for pause in (0.0, 0.02):
            await line.send(sign_in())
            expected = [Expected(get("/live-1"), 302, _location("live-1"))]
            expected += [_draw(dice) for _ in range(9)]
            for each in expected:
                await asyncio.sleep(pause)
                await line.send(each.data)
            answer = await line.answer()
            assert answer is not None
            assert answer.status == 200
            for each in expected:
                await each.check(line)
        await hit(line, "live-4")


async def test_a_body_that_comes_late_holds_up_only_what_is_behind_it(program):
    head, _, body = sign_in().partition(http.END)
    async with await Line.open(program) as line, await Line.open(program) as other:
        await hit(line)
        await line.send(head + http.END)
        await asyncio.sleep(0.1)
        await hit(other)
        await line.send(body[:10])
        await asyncio.sleep(0.1)
        await line.send(body[10:] + get("/live-5") + get("/live-6"))
        answer = await line.answer()
        assert answer is not None
        assert answer.status == 200
        for code in ("live-5", "live-6"):
            await Expected(b"", 302, _location(code)).check(line)


async def test_a_body_that_looks_like_a_request_is_none(program):
    inner = get("/live-7")
    async with await Line.open(program) as line:
        await hit(line)
        for method in ("POST", "GET", "HEAD"):
            await line.send(get("/live-8", f"Content-Length: {len(inner)}", method=method))
            answer = await line.answer(has_body=method != "HEAD")
            assert answer is not None
            assert answer.status == (405 if method == "POST" else 302)
            await line.send(inner)
            await asyncio.sleep(0.02)
            await hit(line, "live-9")


async def test_trailers_are_no_headers(program):
    """Not of their own request, nor of the next one: no host, no token, no address."""
    chunked = "Transfer-Encoding: chunked"
    token = (await _token(program)).encode()
    trailers = b"0\r\nHost: kurz.test\r\nAuthorization: Bearer %s\r\n\r\n" % token
    cases = [
        (get("/api/v1/me", chunked), 401),
        (request("GET /live HTTP/1.1", chunked), 400),
        (request("GET /live HTTP/1.1", "Host: kurz.test", chunked), 302),
    ]
    for head, status in cases:
        for warm in (False, True):
            async with await Line.open(program) as line:
                if warm:
                    await hit(line)
                data = (head + trailers) * 2
                await line.send(data + get("/api/v1/me"))
                for expected in (status, status, 401):
                    await Expected(b"", expected, http.URL if expected == 302 else None).check(line)
                answer = await line.ask(
                    get("/api/v1/me", f"Authorization: Bearer {token.decode()}")
                )
                assert answer.status == 200


async def _token(program: Program) -> str:
    async with await Line.open(program) as line:
        token: str = json.loads((await line.ask(sign_in())).body)["token"]
        return token


async def test_a_client_that_sends_no_more_gets_all_its_answers(program):
    for data, count in [
        (ORDINARY, 1),
        (ORDINARY * 3, 3),
        (sign_in() + ORDINARY, 2),
        (get("/api/v1/links/none"), 1),
        (get("/live", "Connection: close"), 1),
    ]:
        for warm in (False, True):
            async with await Line.open(program) as line:
                if warm:
                    await hit(line)
                await line.send(data)
                line.end()
                received = await line.rest()
                assert received.count(b"HTTP/1.1 ") == count


async def test_what_follows_a_request_to_close_is_not_answered(program):
    async with await Line.open(program) as line:
        await hit(line)
        await line.send(get("/live-1", "Connection: close") + get("/live-2"))
        received = await line.rest()
        assert received.count(b"HTTP/1.1 ") == 1
        assert b"\r\nconnection: close\r\n" in received
