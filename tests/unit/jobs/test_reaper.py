"""What the reaper does to which links, in which order, and when it leaves off."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kurz.errors import StoreUnavailable
from kurz.jobs.boot_clock import BootClock
from kurz.jobs.reaper import Reaper, ReaperPace
from kurz.links.ending.reaper_admin import RetentionPlan
from kurz.links.ending.retention import PRESETS, EndedKind
from kurz.links.errors import ArchiveUnavailable
from kurz.scheduling import Result, RunContext, RunOutcome
from support.clock import FrozenClock
from support.reaping import MemoryArchiver, MemoryReaperStore

HOURS_8 = timedelta(hours=8)


class Seconds:
    """A clock that only counts."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(clock: FrozenClock) -> MemoryReaperStore:
    return MemoryReaperStore(clock)


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def boot(seconds: Seconds) -> BootClock:
    return BootClock(seconds)


@pytest.fixture
def make_reaper(store, seconds, boot) -> Callable[..., Reaper]:
    def make(preset: str = "default", archiver: Any = None, **more: Any) -> Reaper:
        plan = RetentionPlan(PRESETS[preset], has_archive=archiver is not None)
        numbers = {"batch": 10, "pause": timedelta(), "longest": timedelta(minutes=5)}
        pace = ReaperPace(**{name: more.pop(name, usual) for name, usual in numbers.items()})
        return Reaper(store, plan, pace, archiver, boot_clock=boot, monotonic=seconds, **more)

    return make


async def reap(reaper: Reaper) -> tuple[Result, dict[str, int]]:
    context = RunContext(asyncio.Event())
    result = await reaper.run(context)
    return result, dict(context.counts)


async def test_links_are_marked_then_swept(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 5, is_marked=False, hours=2)
    result, counts = await reap(make_reaper())
    assert result == Result(RunOutcome.DONE)
    assert counts == {"marked": 5, "purged": 5}
    assert store.batches == [("mark", 5), ("purge temporary", 5)]
    assert store.items == []


async def test_what_is_within_its_grace_stays(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 1, minutes=59)
    store.add(EndedKind.PERMANENT, 1, days=6)
    store.add(EndedKind.DELETED, 1, days=29)
    result, counts = await reap(make_reaper())
    assert (result, counts) == (Result(), {})
    assert len(store.items) == 3


@pytest.mark.parametrize(("is_enabled", "waiting"), [(True, 5), (False, 0)])
async def test_one_that_is_off_does_not_count_what_waits(
    store, make_reaper, clock, is_enabled, waiting
):
    store.add(EndedKind.TEMPORARY, 5, hours=2)
    reaper = make_reaper(is_enabled=is_enabled)
    await reaper.look(clock.now())
    assert reaper.counts()["reaper_waiting"] == waiting


async def test_each_kind_has_its_fate(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 1, hours=1)
    store.add(EndedKind.PERMANENT, 2, days=7)
    store.add(EndedKind.DELETED, 3, days=30)
    _, counts = await reap(make_reaper())
    assert counts == {"purged": 4, "trashed": 2}
    assert [item.ended for item in store.items] == [EndedKind.SWEPT] * 2


async def test_without_an_archive_links_stay_in_the_trash(store, make_reaper):
    store.add(EndedKind.SWEPT, 3, days=91)
    assert await reap(make_reaper()) == (Result(), {})
    assert len(store.items) == 3


async def test_with_an_archive_links_go_there(store, make_reaper):
    store.add(EndedKind.SWEPT, 3, days=91)
    archiver = MemoryArchiver(store)
    _, counts = await reap(make_reaper(archiver=archiver))
    assert counts == {"archived": 3}
    assert archiver.archived == 3
    assert store.items == []


async def test_a_file_that_was_given_up_is_not_the_end_of_its_kind(store, make_reaper):
    store.add(EndedKind.SWEPT, 25, days=91)
    archiver = MemoryArchiver(store)
    archiver.given_up = 2
    assert await reap(make_reaper(archiver=archiver)) == (Result(), {"archived": 25})


async def test_a_file_that_is_given_up_again_and_again_is_left_to_the_next_run(store, make_reaper):
    store.add(EndedKind.SWEPT, 3, days=91)
    store.add(EndedKind.DELETED, 15, days=91)
    archiver = MemoryArchiver(store)
    archiver.given_up = 4
    reaper = make_reaper(archiver=archiver)
    result, counts = await reap(reaper)
    reason = "Some links were changed while being archived; the next run continues."
    assert (result, counts) == (Result(reason=reason), {"purged": 15})
    assert await reap(reaper) == (Result(), {"archived": 3})


async def test_an_archive_that_cannot_be_used_keeps_nobody_else_waiting(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 15, is_marked=False, hours=2)
    store.add(EndedKind.SWEPT, 3, days=91)
    store.add(EndedKind.DELETED, 15, days=31)
    archiver = MemoryArchiver(store)
    archiver.trouble = ArchiveUnavailable("The disk of the archive is full.")
    reaper = make_reaper(archiver=archiver)
    result, counts = await reap(reaper)
    assert result == Result(RunOutcome.FAILED, "The disk of the archive is full.")
    assert counts == {"marked": 15, "purged": 30}
    assert [item.ended for item in store.items] == [EndedKind.SWEPT] * 3
    archiver.trouble = None
    assert await reap(reaper) == (Result(), {"archived": 3})


async def test_what_is_to_be_kept_is_never_swept(store, make_reaper):
    store.add(EndedKind.PERMANENT, 3, days=3650)
    store.add(EndedKind.SWEPT, 3, days=3650)
    assert await reap(make_reaper("keep")) == (Result(), {})


async def test_no_batch_is_larger_than_it_may_be(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 25, is_marked=False, hours=2)
    _, counts = await reap(make_reaper())
    assert counts == {"marked": 25, "purged": 25}
    assert [number for _, number in store.batches] == [10, 10, 10, 10, 5, 5]


async def test_kinds_take_turns(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 20, hours=2)
    store.add(EndedKind.DELETED, 20, days=31)
    await reap(make_reaper())
    assert [what for what, _ in store.batches] == ["purge temporary", "purge deleted"] * 2


async def test_a_run_ends_when_its_time_is_over_and_the_next_goes_on(store, make_reaper, seconds):
    store.add(EndedKind.TEMPORARY, 100, hours=2)

    def slowly() -> None:
        seconds.now += 60
        store.clock.advance(seconds=60)

    store.before_batch = slowly
    reaper = make_reaper()
    result, counts = await reap(reaper)
    assert (result.outcome, result.reason) == (
        RunOutcome.DONE,
        "The run reached its time limit; the next run continues.",
    )
    assert counts == {"purged": 20}  # three of the minutes went on looking for others
    _, counts = await reap(reaper)
    assert counts == {"purged": 20}


async def test_time_that_marking_takes_is_time_of_the_run(store, make_reaper, seconds):
    store.add(EndedKind.TEMPORARY, 100, is_marked=False, hours=2)

    def slowly() -> None:
        seconds.now += 60
        store.clock.advance(seconds=60)

    store.before_batch = slowly
    _, counts = await reap(make_reaper())
    assert counts == {"marked": 20, "purged": 10}  # two minutes went on looking for others


async def test_links_that_expire_all_the_time_do_not_keep_a_run_from_sweeping(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 20, is_marked=False, hours=2)

    def more_expire() -> None:
        store.clock.advance(seconds=0.05)
        store.add(EndedKind.TEMPORARY, 10, is_marked=False)

    store.before_batch = more_expire
    result, counts = await reap(make_reaper())
    assert (result, counts) == (Result(), {"marked": 20, "purged": 20})


async def test_each_part_of_a_run_gets_the_same_share_of_its_time(store, make_reaper, seconds):
    store.add(EndedKind.TEMPORARY, 1000, is_marked=False, hours=2)
    store.add(EndedKind.DELETED, 1000, days=31)
    archiver = MemoryArchiver(store)
    store.add(EndedKind.SWEPT, 1000, days=91)
    costs = {"mark": 1, "purge temporary": 2, "purge deleted": 5, "archive swept": 20}
    spent = dict.fromkeys(costs, 0)

    class Timed(list[tuple[str, int]]):
        def append(self, batch: tuple[str, int]) -> None:
            spent[batch[0]] += costs[batch[0]]
            seconds.now += costs[batch[0]]
            store.clock.advance(seconds=costs[batch[0]])

    store.batches = Timed()
    await reap(make_reaper(archiver=archiver))
    assert max(spent.values()) - min(spent.values()) <= 20 * 2
    assert sum(spent.values()) >= 300


async def test_a_run_that_is_to_stop_ends_between_batches(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 100, hours=2)
    context = RunContext(asyncio.Event())
    context.tell = lambda _, __: context.stopping.set()
    result = await make_reaper(pause=timedelta(hours=1)).run(context)
    assert (result.outcome, result.reason) == (RunOutcome.DONE, "The run was stopped.")
    assert context.counts == {"purged": 10}


async def test_a_run_tells_how_it_gets_on(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 15, is_marked=False, hours=2)
    told: list[tuple[str, int]] = []
    await make_reaper().run(RunContext(asyncio.Event(), tell=lambda *it: told.append(it)))
    assert told == [("marked", 10), ("purged", 10), ("marked", 5), ("purged", 5)]


async def test_what_was_done_before_a_failure_is_told(store, make_reaper):
    store.add(EndedKind.TEMPORARY, 30, hours=2)
    context = RunContext(asyncio.Event())

    def fail() -> None:
        if context.counts["purged"] == 20:
            raise StoreUnavailable("The disk of the database is full.")

    store.before_batch = fail
    with pytest.raises(StoreUnavailable):
        await make_reaper().run(context)
    assert context.counts == {"purged": 20}


@pytest.mark.parametrize("jump", [HOURS_8, -HOURS_8, timedelta(minutes=6), -timedelta(minutes=6)])
async def test_when_the_clock_has_jumped_nothing_is_marked_or_swept(
    store, make_reaper, clock, jump
):
    store.add(EndedKind.TEMPORARY, 5, days=2)
    store.add(EndedKind.TEMPORARY, 5, is_marked=False, days=2)
    reaper = make_reaper()
    await reaper.look(clock.now())
    clock.advance(seconds=jump.total_seconds())
    result, counts = await reap(reaper)
    assert result.outcome is RunOutcome.SKIPPED
    assert "The clock has jumped" in str(result.reason)
    assert counts == {}
    assert [item.is_marked for item in store.items] == [True] * 5 + [False] * 5


async def test_when_the_clock_is_back_links_are_swept_again(store, make_reaper, clock):
    store.add(EndedKind.TEMPORARY, 5, days=2)
    reaper = make_reaper()
    await reaper.look(clock.now())
    clock.advance(hours=8)
    assert (await reap(reaper))[0].outcome is RunOutcome.SKIPPED
    clock.advance(hours=-8)
    assert await reap(reaper) == (Result(), {"purged": 5})


async def test_a_clock_that_jumps_within_a_run_ends_it(store, make_reaper, clock):
    store.add(EndedKind.TEMPORARY, 15, hours=2)
    store.add(EndedKind.TEMPORARY, 15)
    reaper = make_reaper()
    store.before_batch = lambda: clock.advance(hours=8) if len(store.items) == 20 else None
    result, counts = await reap(reaper)
    assert result.outcome is RunOutcome.SKIPPED
    assert counts == {"purged": 10}
    assert len(store.items) == 20


async def test_time_that_passes_is_no_jump(store, make_reaper, clock, seconds):
    reaper = make_reaper()
    await reaper.look(clock.now())
    for _ in range(3):
        store.add(EndedKind.TEMPORARY, 5, hours=2)
        clock.advance(hours=8)
        seconds.now += 8 * 3600
        assert await reap(reaper) == (Result(), {"purged": 5})


@pytest.mark.parametrize(
    ("wall", "boot_seconds", "is_jump"),
    [
        (timedelta(minutes=5), 0, False),
        (timedelta(minutes=5, seconds=1), 0, True),
        (-timedelta(minutes=5), 0, False),
        (-timedelta(minutes=5, seconds=1), 0, True),
        (timedelta(), 301, True),  # the wall clock stood still
        (timedelta(days=200, minutes=20), 200 * 86_400, False),  # two clocks that nobody corrects
        (timedelta(days=200, minutes=60), 200 * 86_400, True),
    ],
)
def test_a_jump_is_more_than_clocks_differ_by(boot, seconds, clock, wall, boot_seconds, is_jump):
    assert boot.jump(clock.now()) is None
    seconds.now += boot_seconds
    found = boot.jump(clock.now() + wall)
    assert (found is not None) is is_jump
    if is_jump:
        assert found == wall - timedelta(seconds=boot_seconds)


@pytest.mark.parametrize(("jump", "hours"), [(HOURS_8, 24), (-HOURS_8, 2)])
async def test_a_clock_that_goes_on_evenly_is_believed_again(
    store, make_reaper, clock, seconds, jump, hours
):
    store.add(EndedKind.TEMPORARY, 5, days=2)
    reaper = make_reaper()
    await reaper.look(clock.now())
    clock.advance(seconds=jump.total_seconds())
    for _ in range(hours * 12):
        await reaper.look(clock.now())
        assert (await reap(reaper))[0].outcome is RunOutcome.SKIPPED
        clock.advance(minutes=5)
        seconds.now += 300
    assert await reap(reaper) == (Result(), {"purged": 5})
    clock.advance(seconds=-jump.total_seconds())
    assert (await reap(reaper))[0].outcome is RunOutcome.SKIPPED


def test_a_clock_that_jumps_again_and_again_is_not(boot, seconds, clock):
    assert boot.jump(clock.now()) is None
    for _ in range(10):
        clock.advance(hours=8)
        for _ in range(2):
            assert boot.jump(clock.now()) is not None
            clock.advance(minutes=59)
            seconds.now += 59 * 60


async def test_what_waits_is_counted_now_and_then(store, make_reaper, clock, seconds):
    reaper = make_reaper()
    store.add(EndedKind.TEMPORARY, 3, hours=2)
    await reaper.look(clock.now())
    assert reaper.counts()["reaper_waiting"] == 3
    store.add(EndedKind.TEMPORARY, 4, is_marked=False, minutes=1)
    await reaper.look(clock.now())
    assert reaper.counts()["reaper_waiting"] == 3
    seconds.now += 60
    clock.advance(seconds=60)
    await reaper.look(clock.now())
    assert reaper.counts()["reaper_waiting"] == 7
    await reap(reaper)
    await reaper.look(clock.now())
    assert reaper.counts() == {
        "reaper_marked": 4,
        "reaper_trashed": 0,
        "reaper_archived": 0,
        "reaper_purged": 3,
        "reaper_waiting": 0,
    }


async def test_a_link_that_is_marked_and_swept_in_one_run_waits_once(store):
    plan = RetentionPlan(PRESETS["default"], has_archive=False)
    store.add(EndedKind.TEMPORARY, 3, is_marked=False, hours=2)
    store.add(EndedKind.TEMPORARY, 2, is_marked=False, minutes=2)
    store.add(EndedKind.TEMPORARY, 1, hours=2)
    store.add(EndedKind.SWEPT, 9, days=91)
    waiting = await plan.count(store)
    assert (waiting.unmarked, waiting.go_on, waiting.total) == (5, 3, 6)
    assert waiting.by_kind == {EndedKind.TEMPORARY: 4, EndedKind.PERMANENT: 0, EndedKind.DELETED: 0}
