"""Politeness: whose turn it is, and what counts as one site."""

import asyncio

import pytest

from kurz.outbound import sites
from kurz.outbound.sites import SiteGate, site_of
from kurz.safety.checks import NoTurn


@pytest.mark.parametrize(
    ("location", "site"),
    [
        ("https://example.com/", "example.com"),
        ("https://www.example.com:8443/x", "example.com"),
        ("http://a.b.example.co.uk./", "example.co.uk"),
        ("https://somebody.github.io/", "somebody.github.io"),
        ("https://co.uk/", "co.uk"),
        ("http://intranet/", "intranet"),
        ("http://192.0.2.7:8080/", "192.0.2.7"),
        ("http://[2001:db8::1]/", "2001:db8::/64"),
        ("http://[::ffff:c000:207]/", "192.0.2.7"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
    ],
)
def test_a_site_is_what_somebody_registered(location, site):
    assert site_of(location) == site


class _Time:
    """Passes only where somebody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time(monkeypatch) -> _Time:
    return _Time(monkeypatch)


async def call(
    gate: SiteGate,
    site: str = "example.com",
    most_seconds: float = 1000.0,
    *,
    is_requested: bool = False,
) -> None:
    async with gate.turn(site, most_seconds, is_requested=is_requested):
        gate.called(site, is_requested=is_requested)


async def test_each_request_waits_a_minute_for_the_one_before(time):
    gate = SiteGate(monotonic=time)
    turns = []
    for _ in range(4):
        await call(gate)
        turns.append(time.now - 1000)
    assert turns == [0, 60, 120, 180]


async def test_who_asks_waits_only_for_others_who_asked(time):
    gate = SiteGate(monotonic=time)
    turns = []
    for is_requested in False, True, True, False, True, False:
        await call(gate, is_requested=is_requested)
        turns.append(time.now - 1000)
    assert turns == [0, 0, 60, 120, 120, 180]


async def test_who_asks_does_not_stand_in_line_behind_the_others():
    gate = SiteGate()
    gate.called("example.com")
    waiting = [asyncio.ensure_future(call(gate)) for _ in range(3)]
    await asyncio.wait(waiting, timeout=0.01)
    async with asyncio.timeout(1):
        await call(gate, is_requested=True)
    assert gate.waiting == 3
    assert not gate.is_open("example.com", is_requested=True)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    assert not gate._rows


async def test_other_sites_do_not_wait(time):
    gate = SiteGate(monotonic=time)
    for number in range(100):
        await call(gate, f"{number}.example")
    assert time.now == 1000


async def test_who_waits_at_once_goes_one_after_the_other(time):
    gate = SiteGate(monotonic=time)
    turns = []

    async def go(name: str) -> None:
        await call(gate)
        turns.append((name, time.now - 1000))

    await asyncio.gather(*(go(name) for name in "abcd"))
    assert turns == [("a", 0), ("b", 60), ("c", 120), ("d", 180)]


async def test_who_leaves_the_line_takes_nothing_from_those_behind(monkeypatch):
    now, ticks = 1000.0, asyncio.Event()

    async def sleep(_: float) -> None:
        await ticks.wait()

    monkeypatch.setattr(asyncio, "sleep", sleep)
    gate = SiteGate(monotonic=lambda: now)
    gate.called("example.com")
    waiting = [asyncio.ensure_future(call(gate)) for _ in range(5)]
    await asyncio.wait(waiting, timeout=0.01)
    assert gate.waiting == 5
    for task in waiting[:4]:
        task.cancel()
    await asyncio.wait(waiting[:4])
    assert gate.waiting == 1
    now += 60
    ticks.set()
    await waiting[4]
    assert gate.waiting == 0
    assert gate.seconds_until("example.com") == 60
    assert not gate._rows


async def test_who_would_wait_for_too_long_is_told_at_once(time):
    gate = SiteGate(monotonic=time)
    gate.called("example.com")
    async with gate.turn("other.example", 0):
        pass  # nobody was called
    assert gate.seconds_until("other.example") == 0
    with pytest.raises(NoTurn):
        await call(gate, most_seconds=59)
    assert (time.now, gate.waiting) == (1000, 0)
    assert not gate.is_open("example.com")
    await call(gate, most_seconds=60)
    assert time.now == 1060


async def test_a_turn_that_does_not_come_in_time_is_none():
    gate = SiteGate(seconds_between=0.01)
    async with gate.turn("example.com", 1):
        with pytest.raises(NoTurn):
            await call(gate, most_seconds=0.05)
        assert gate.is_open("example.com")  # behind the one who has it
    assert gate.waiting == 0


async def test_what_another_process_may_have_called_waits(time):
    gate = SiteGate(monotonic=time)
    gate.rest(seconds_ago=20)
    assert (gate.seconds_until("example.com"), gate.is_open("example.com")) == (40, False)
    await call(gate)
    assert time.now == 1040
    assert gate.is_open("example.net")


async def test_sites_whose_turn_is_over_are_forgotten(time, monkeypatch):
    monkeypatch.setattr(sites, "REMEMBERED", 10)
    gate = SiteGate(monotonic=time)
    for number in range(50):
        time.now += 20
        await call(gate, f"{number}.example")
        assert len(gate._free_at) <= 10
    assert gate.seconds_until("49.example") == 60
