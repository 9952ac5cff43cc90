"""The load of `soak.py`, a process of its own: creates links that expire after a minute, and knows
for each request which answers are right.

It reads commands from its standard input, a line of JSON each, and answers with a line each:
`{"saturate": seconds}` sends as much as the server takes, `{"rate": …, "seconds": …}` that many
requests a second, whether they are answered or not.
"""

import asyncio
import contextlib
import json
import random
import string
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import uvloop

from redirect_load import url_of, zipf
from soak_client import Answer, Visitors
from soak_tally import Link, Tally

SATURATING = 32  # clients that wait for their answers
MOST_IN_FLIGHT = 1000
LIFE_SECONDS = 60
ACCOUNTS = 3
PASSWORD = "correct horse battery"  # noqa: S105  of accounts that live for some minutes
# Of 1000 requests.
SHARES = {
    "redirect, popular": 450,
    "redirect, rare": 150,
    "redirect, 60-second link": 200,
    "redirect, expired": 60,
    "redirect, unknown": 40,
    "preview": 10,
    "create, anonymous": 35,
    "create, account": 25,
    "edit": 8,
    "delete": 8,
    "list": 5,
    "statistics": 5,
    "QR code": 1,
    "closed early": 3,
}
SIGN_IN_SECONDS = 15.0  # each takes a quarter of a second of CPU
STREAM_SECONDS = 10.0
STREAMED_SECONDS = 3.0
LETTERS = string.ascii_letters + string.digits


class Load:
    """`settle_seconds`: how long other workers may answer with what was true before a change.
    `kept_seconds`: how long an expired link answers 410, at least."""

    def __init__(
        self,
        visitors: Visitors,
        codes: list[str],
        *,
        kept_seconds: float,
        settle_seconds: float,
    ) -> None:
        self._visitors = visitors
        self._codes = codes
        self._popular = [codes[number] for number in zipf(len(codes), 100_000)]
        self._kept_seconds = kept_seconds
        self._settle_seconds = settle_seconds
        self._emails = [f"soak-{number}@example.com" for number in range(ACCOUNTS)]
        self._tokens: list[str] = []
        self._live: deque[Link] = deque()  # in the order in which they expire
        self._owned: list[Link] = []
        self._ended: deque[Link] = deque(maxlen=2000)
        self._number = 0
        self.tally = Tally()
        self._acts: dict[str, Callable[[float], Awaitable[None]]] = {
            "redirect, popular": lambda at: self._visit(random.choice(self._popular), at),
            "redirect, rare": lambda at: self._visit(random.choice(self._codes), at),
            "redirect, 60-second link": self._visit_live,
            "redirect, expired": lambda _: self._visit_ended(),
            "redirect, unknown": lambda _: self._visit_unknown(),
            "preview": lambda _: self._preview(),
            "create, anonymous": lambda _: self._create(None),
            "create, account": lambda _: self._create(random.choice(self._tokens)),
            "edit": lambda _: self._edit(),
            "delete": lambda _: self._delete(),
            "list": lambda _: self._list(),
            "statistics": lambda _: self._read_statistics(),
            "QR code": lambda _: self._draw(),
            "closed early": lambda _: self._leave_early(),
        }
        self._kinds = [*SHARES]
        self._weights = [*SHARES.values()]

    async def register(self) -> None:
        for email in self._emails:
            body = {"email": email, "password": PASSWORD}
            request = self._visitors.request("POST", "/api/v1/auth/register", body)
            self._tokens.append((await self._visitors.ask(request)).json()["token"])

    async def saturate(self, seconds: float) -> dict[str, Any]:
        self.tally = Tally()
        started = time.monotonic()

        async def one() -> None:
            while time.monotonic() - started < seconds:
                await self._act(time.monotonic())

        await asyncio.gather(*(one() for _ in range(SATURATING)))
        return self.tally.told(time.monotonic() - started)

    async def run(self, rate: float, seconds: float) -> dict[str, Any]:
        self.tally = Tally()
        running: set[asyncio.Task[None]] = set()
        started, sent = time.monotonic(), 0

        def spawn(act: Awaitable[None]) -> None:
            task = asyncio.ensure_future(act)
            running.add(task)
            task.add_done_callback(running.discard)

        beside = [
            asyncio.create_task(self._every(SIGN_IN_SECONDS, self._sign_in)),
            asyncio.create_task(self._every(STREAM_SECONDS, self._listen)),
        ]
        while (passed := time.monotonic() - started) < seconds:
            due = int(passed * rate)
            if len(running) > MOST_IN_FLIGHT:
                self.tally.unsent += due - sent
                sent = due
            for number in range(sent, due):
                spawn(self._act(started + number / rate))
            sent = due
            await asyncio.sleep(0.002)
        for task in beside:
            task.cancel()
        await asyncio.gather(*running, *beside, return_exceptions=True)
        self._visitors.close()
        return self.tally.told(time.monotonic() - started)

    async def _act(self, scheduled_at: float) -> None:
        self._age()
        kind = random.choices(self._kinds, self._weights)[0]
        self.tally.sent[kind] += 1
        try:
            await self._acts[kind](scheduled_at)
        except (OSError, TimeoutError) as error:
            self._note_failure(kind, f"{type(error).__name__} {error}")
            self.tally.perhaps_redirects += kind.startswith("redirect")

    async def _every(self, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await act()
            except (OSError, TimeoutError) as error:
                self._note_failure(act.__name__, f"{type(error).__name__} {error}")

    def _age(self) -> None:
        now = time.time()
        while self._live and self._live[0].expires_at <= now:
            link = self._live.popleft()
            self._ended.append(link)
        while self._owned and (self._owned[0].expires_at <= now or self._owned[0].is_deleted):
            self._owned.pop(0)

    # What visitors do.

    async def _visit(self, code: str, scheduled_at: float) -> None:
        answer = await self._visitors.ask(self._visitors.request("GET", f"/{code}"))
        self._note_latency(scheduled_at)
        if self._is_answered("redirect", answer, {302}):
            self._expect_location(answer, {url_of(code)})

    async def _visit_live(self, scheduled_at: float) -> None:
        if self._live:
            await self._visit_link(random.choice(self._live))
            self._note_latency(scheduled_at)

    async def _visit_ended(self) -> None:
        if self._ended:
            await self._visit_link(random.choice(self._ended))

    async def _visit_link(self, link: Link) -> None:
        """Whatever state it is in, before and after."""
        sent_at, was_deleted, before = time.time(), link.is_deleted, set(link.locations)
        answer = await self._visitors.ask(self._visitors.request("GET", f"/{link.code}"))
        right = {404} if was_deleted else link.statuses(sent_at, time.time(), self._kept_seconds)
        if self._is_answered("60-second link", answer, right) and answer.status == 302:
            self._expect_location(answer, before | link.locations)

    async def _visit_unknown(self) -> None:
        code = "".join(random.choices(LETTERS, k=8))
        answer = await self._visitors.ask(self._visitors.request("GET", f"/{code}"))
        self._is_answered("unknown", answer, {404})

    async def _preview(self) -> None:
        code = random.choice(self._codes)
        answer = await self._visitors.ask(self._visitors.request("GET", f"/{code}+"))
        if self._is_answered("preview", answer, {200}) and url_of(code).encode() not in answer.body:
            self._note_wrong("preview", "without the destination")

    # What programs do.

    async def _create(self, token: str | None) -> None:
        self._number += 1
        url = f"https://www.example.com/soak/{self._number}".ljust(100, "x")
        body: dict[str, Any] = {"original_url": url, "expires_in": LIFE_SECONDS}
        if token is not None:
            body |= {"title": f"Link {self._number}", "tags": [f"tag-{self._number % 20}"]}
        request = self._visitors.request("POST", "/api/v1/links", body, token)
        answer = await self._visitors.ask(request)
        if not self._is_answered("create", answer, {201}):
            return
        found = answer.json()
        link = Link(
            id=found["id"],
            code=found["short_code"],
            locations={url},
            expires_at=_seconds(found["expires_at"]),
            token=token,
        )
        self._live.append(link)
        if token is not None:
            self._owned.append(link)

    async def _edit(self) -> None:
        link = self._choose_owned()
        if link is None:
            return
        self._number += 1
        url = f"https://www.example.com/edited/{self._number}".ljust(100, "x")
        old, link.is_being_changed = set(link.locations), True
        link.locations.add(url)
        path = f"/api/v1/links/{link.id}"
        request = self._visitors.request("PATCH", path, {"original_url": url}, link.token)
        answer = await self._visitors.ask(request)
        expired = time.time() >= link.expires_at  # and perhaps in the trash, or purged
        if self._is_answered("edit", answer, {200, 404} if expired else {200}):
            self._settle(lambda: link.locations.difference_update(old))
            link.is_being_changed = False

    async def _delete(self) -> None:
        link = self._choose_owned()
        if link is None:
            return
        link.is_being_changed = link.is_being_deleted = True
        request = self._visitors.request("DELETE", f"/api/v1/links/{link.id}", None, link.token)
        answer = await self._visitors.ask(request)
        expired = time.time() >= link.expires_at
        if self._is_answered("delete", answer, {204, 404} if expired else {204}):
            self._settle(lambda: setattr(link, "is_deleted", not expired))

    async def _list(self) -> None:
        page = random.choice(
            ("", "&search=edited", "&tag=tag-3", "&status=EXPIRED&sort=created_at")
        )
        path = f"/api/v1/links?limit=50{page}"
        await self._ask_as_somebody("list", "GET", path)

    async def _read_statistics(self) -> None:
        link = self._choose_owned()
        of_link = f"/api/v1/links/{link.id}" if link and random.random() < 0.5 else "/api/v1/me"
        token = link.token if link else None
        statuses = {200} if link is None or time.time() < link.expires_at - 1 else {200, 404}
        await self._ask_as_somebody("statistics", "GET", f"{of_link}/stats", token, statuses)

    async def _draw(self) -> None:
        link = self._choose_owned()
        if link is not None:
            path = f"/api/v1/links/{link.id}/qr?format=png"
            await self._ask_as_somebody("QR code", "GET", path, link.token, {200, 404})

    async def _sign_in(self) -> None:
        number = random.randrange(ACCOUNTS)
        self.tally.sent["sign-in"] += 1
        body = {"email": self._emails[number], "password": PASSWORD}
        request = self._visitors.request("POST", "/api/v1/auth/sign-in", body)
        answer = await self._visitors.ask(request)
        if self._is_answered("sign-in", answer, {200}):
            self._tokens[number] = answer.json()["token"]

    async def _listen(self) -> None:
        """To the live numbers, for a while."""
        self.tally.sent["live stream"] += 1
        path = "/api/v1/me/stats/live"
        request = self._visitors.request("GET", path, None, random.choice(self._tokens))
        await self._visitors.leave_early(request, len(request), STREAMED_SECONDS)

    async def _leave_early(self) -> None:
        kind = random.randrange(3)
        if kind == 0:  # within the head
            request = self._visitors.request("GET", f"/{random.choice(self._popular)}")
            await self._visitors.leave_early(request, len(request) // 2, random.random())
        elif kind == 1:  # before the answer
            request = self._visitors.request("GET", f"/{random.choice(self._popular)}")
            self.tally.perhaps_redirects += 1
            await self._visitors.leave_early(request, len(request))
        else:  # within the body
            body = {"original_url": url_of("x"), "expires_in": LIFE_SECONDS}
            request = self._visitors.request("POST", "/api/v1/links", body)
            await self._visitors.leave_early(request, len(request) - 20, random.random())

    async def _ask_as_somebody(
        self,
        what: str,
        method: str,
        path: str,
        token: str | None = None,
        statuses: frozenset[int] | set[int] = frozenset({200}),
    ) -> None:
        token = token or random.choice(self._tokens)
        request = self._visitors.request(method, path, None, token)
        self._is_answered(what, await self._visitors.ask(request), statuses)

    def _choose_owned(self) -> Link | None:
        """One that nobody changes at the moment, and that will not expire meanwhile."""
        for _ in range(3):
            if self._owned:
                link = random.choice(self._owned)
                if not link.is_being_changed and link.expires_at - time.time() > 2:
                    return link
        return None

    def _settle(self, act: Callable[[], None]) -> None:
        if self._settle_seconds:
            asyncio.get_running_loop().call_later(self._settle_seconds, act)
        else:
            act()

    # What came of it.

    def _is_answered(self, what: str, answer: Answer, statuses: frozenset[int] | set[int]) -> bool:
        if answer.status == 302:
            self.tally.redirects += 1
        if answer.status in statuses:
            return True
        if answer.status == 503:
            self._note_failure(what, "503")
        else:
            self._note_wrong(
                what, f"{answer.status}, not {sorted(statuses)}: {answer.body[:200]!r}"
            )
        return False

    def _expect_location(self, answer: Answer, locations: set[str]) -> None:
        if answer.location not in locations:
            self._note_wrong("location", f"{answer.location}, not {sorted(locations)}")

    def _note_wrong(self, what: str, why: str) -> None:
        self.tally.wrong[what] += 1
        self._note_example(f"{what}: {why}")

    def _note_failure(self, what: str, why: str) -> None:
        self.tally.failed[what] += 1
        self._note_example(f"{what}: {why}")

    def _note_example(self, text: str) -> None:
        if len(self.tally.examples) < 20:
            self.tally.examples.append(text)

    def _note_latency(self, scheduled_at: float) -> None:
        """Since it was due, whether it could be sent then or not."""
        self.tally.latencies_ms.append((time.monotonic() - scheduled_at) * 1000)


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()


async def main() -> None:
    options = json.loads(await asyncio.to_thread(input))
    load = Load(
        Visitors(options["port"], options["addresses"]),
        options["codes"],
        kept_seconds=options["kept_seconds"],
        settle_seconds=options["settle_seconds"],
    )
    await load.register()
    print("{}", flush=True)
    with contextlib.suppress(EOFError):
        while command := json.loads(await asyncio.to_thread(input)):
            if "saturate" in command:
                found = await load.saturate(command["saturate"])
            else:
                found = await load.run(command["rate"], command["seconds"])
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    sys.stdin.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    uvloop.run(main())
