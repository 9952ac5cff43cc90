"""Whenever somebody asks for a link, it answers by its life: it redirects, then it has expired,
and it is unknown when it was purged; whatever is being done to it, in memory or not."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import httpx2
import pytest

from kurz.jobs.boot_clock import BootClock
from kurz.jobs.reaper import Reaper, ReaperPace
from kurz.links.ending.reaper_admin import RetentionPlan
from kurz.links.ending.retention import PRESETS, Retention
from kurz.links.model import Draft, Edit, Scope
from kurz.people.passwords import Passwords
from kurz.scheduling import RunContext, RunOutcome
from kurz.settings.model import Settings
from kurz.wiring.archive import open_archiver
from kurz.wiring.core import Kurz, open_kurz
from support.clock import FrozenClock
from support.feed import DEADLINE_SECONDS
from support.lifetimes import Ask, ClockedReaperStore, Crowd, LaneVisitor, Life
from support.long_run import in_the_long_run
from support.serving import serving

OWNER = 5
LINKS = 6
STEPS = 25
RULES = ("default", "archival", "buffered", "immediate", "keep")
TICK = timedelta(microseconds=1)
Connect = Callable[..., Awaitable[httpx2.AsyncClient]]


@pytest.fixture
def settings(settings: Settings, tmp_path) -> Settings:
    return replace(settings, archive=str(tmp_path / "archive"))


@pytest.fixture
async def crowd(kurz: Kurz, clock: FrozenClock, connect: Connect) -> AsyncIterator[Crowd]:
    """The fast lane and the ASGI path, each with a memory, and with one for a single link."""

    async def ask(client: httpx2.AsyncClient, path: str) -> int:
        return (await client.get(path)).status_code

    async with AsyncExitStack() as closing:
        visitors: dict[str, Ask] = {}
        for name, memory in (("warm", 1000), ("cold", 1)):
            own = replace(kurz.settings, hot_links=memory)
            parts = await closing.enter_async_context(open_kurz(own, clock, Passwords(cost=4)))
            lane = LaneVisitor(await closing.enter_async_context(serving(parts)))
            closing.callback(lane.close)
            client = await connect(hot_links=memory, fast_lane="off")
            visitors |= {f"{name} lane": lane.ask, f"{name} app": partial(ask, client)}
        yield Crowd(visitors)


class Story:
    """What happens to some links, by chance."""

    def __init__(self, kurz: Kurz, clock: FrozenClock, crowd: Crowd, seed: int) -> None:
        self._kurz = kurz
        self._clock = clock
        self._crowd = crowd
        self._chance = random.Random(seed)
        preset = RULES[seed % len(RULES)]
        self._retention: Retention = PRESETS[preset]
        self._lives: list[Life] = []
        self._told = [preset]

    async def tell(self) -> None:
        for _ in range(LINKS):
            await self._begin()
        await self._check()
        acts = 5 * [self._wait] + 5 * [self._reap]
        acts += [self._mark, self._extend, self._restore, self._delete, self._purge]
        for _ in range(STEPS):
            act = self._chance.choice(acts)
            self._told.append(f"{self._clock.now()} {act.__name__}")
            await act()
            await self._check()

    async def _begin(self) -> None:
        is_temporary = self._chance.random() < 0.5
        made = await self._kurz.links.create(
            Draft(
                original_url="https://example.com/",
                owner_id=None if is_temporary else OWNER,
                is_anonymous=is_temporary,
                expires_in_seconds=self._chance.randint(60, 8 * 3600),
            )
        )
        self._lives.append(Life(made.link, is_temporary, made.link.expires_at))

    async def _wait(self) -> None:
        """Mostly until just before or after something changes."""
        now = self._clock.now()
        turns = [turn for life in self._lives for turn in life.turns(now, self._retention)]
        then = self._chance.choice([*turns, now + timedelta(hours=self._chance.random())])
        then += self._chance.choice((-TICK, timedelta(), timedelta(), TICK))
        self._clock.advance(microseconds=max(then - now, timedelta()) // TICK)

    async def _reap(self) -> None:
        store = ClockedReaperStore(self._kurz.database, self._clock, timedelta(days=365))
        reaper = Reaper(
            store,
            RetentionPlan(self._retention, has_archive=True),
            ReaperPace(2, timedelta(), timedelta(minutes=5)),
            open_archiver(self._kurz),
            boot_clock=BootClock(lambda: self._clock.micros() / 1e6),
        )

        async def run() -> None:
            assert (await reaper.run(RunContext(asyncio.Event()))).outcome is RunOutcome.DONE

        def expect(now: datetime) -> None:
            for life in self._lives:
                life.reap(now, self._retention)

        await self._do(run(), expect)

    async def _mark(self) -> None:
        store = ClockedReaperStore(self._kurz.database, self._clock, timedelta(days=365))
        await self._do(store.mark_expired(self._clock.now(), 1000), lambda _: None)

    async def _extend(self) -> None:
        found = [life for life in self._lives if not life.is_gone and not life.is_in_trash]
        edit: Edit = {"expires_at": self._some_time()}

        def expect(_: datetime) -> None:
            found[0].extend(edit["expires_at"])

        if found:
            await self._do(self._kurz.links.edit(self._id(found[0]), Scope(), edit), expect)

    async def _restore(self) -> None:
        now = self._clock.now()
        found = [life for life in self._lives if life.ended(now) is not None]
        until = self._chance.choice((None, self._some_time()))
        for life in self._chance.sample(found, min(1, len(found))):
            action = self._kurz.links.restore(self._id(life), Scope(), expires_at=until)
            await self._do(action, partial(life.restore, expires_at=until))

    async def _delete(self) -> None:
        found = [life for life in self._lives if not life.is_gone and not life.is_in_trash]

        def expect(now: datetime) -> None:
            found[0].deleted_at = now

        if found:
            await self._do(self._kurz.links.delete(self._id(found[0]), Scope()), expect)

    async def _purge(self) -> None:
        found = [life for life in self._lives if life.is_in_trash and not life.is_gone]

        def expect(_: datetime) -> None:
            found[0].is_gone = True

        if found:
            await self._do(self._kurz.trash.purge(self._id(found[0]), Scope()), expect)

    def _id(self, life: Life) -> int:
        return self._kurz.links.public_id(life.link)

    def _some_time(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self._chance.randint(1, 30 * 86400))

    async def _do(self, action: Awaitable[object], expect: Callable[[datetime], None]) -> None:
        """While it is done, and until all have heard of it, a link answers as before or as it will;
        who has given the new answer does not give the old one again."""
        now = self._clock.now()
        before = self._crowd.expect(self._lives, now)
        task = asyncio.ensure_future(action)
        answers = [await self._crowd.visit(self._lives)]
        while not task.done():
            answers.append(await self._crowd.visit(self._lives))
        await task
        expect(now)
        after = self._crowd.expect(self._lives, now)
        ends_at = time.monotonic() + DEADLINE_SECONDS
        while answers[-1] != after and time.monotonic() < ends_at:
            answers.append(await self._crowd.visit(self._lives))
        for key, status in after.items():
            given = [answer[key] for answer in answers]
            assert given == sorted(given, key=(before[key], status).index), self._told
        assert answers[-1] == after, self._told

    async def _check(self) -> None:
        now = self._clock.now()
        expected = self._crowd.expect(self._lives, now)
        assert await self._crowd.visit(self._lives) == expected, (now, self._told)
        for life in self._lives:
            row = await self._kurz.store.find(life.link.id, Scope())
            assert (row is None) == life.is_gone, (life, self._told)


@pytest.mark.parametrize("seed", [0, *in_the_long_run(1)])
async def test_a_link_answers_by_its_life_whatever_happens_to_it(kurz, clock, crowd, seed):
    await Story(kurz, clock, crowd, seed).tell()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 32))
async def test_links_answer_by_their_lives_in_many_more_stories(kurz, clock, crowd, seed):
    await Story(kurz, clock, crowd, seed).tell()
