"""Nobody can tell a deleted, paused or scheduled link from a code that never was by counting how
many tries are left."""

from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kurz.links.model import Link, Status
from kurz.people.limits import LIMITS, LimitClass
from kurz.people.passwords import Passwords
from kurz.redirect.entry import ABSENCE_MICROS
from kurz.wiring.core import Kurz, open_kurz
from support.clock import FrozenClock
from support.engines import without_redis
from support.lifetimes import LaneVisitor
from support.serving import serving

ALLOWED = LIMITS[LimitClass.MISS][0].rate.count
HIDDEN: dict[str, dict[str, Any]] = {
    "deleted": {"status": Status.DELETED},
    "paused": {"status": Status.PAUSED},
    "scheduled": {"starts_at": timedelta(days=30)},
}

engine = without_redis  # which gives tries back by its own clock

Add = Callable[..., Awaitable[Link]]


async def paths_of(kind: str, number: int, add_link: Add, clock: FrozenClock) -> list[str]:
    if kind == "unknown":
        return [f"/nothing{index}" for index in range(number)]
    fields = dict(HIDDEN[kind])
    if "starts_at" in fields:
        fields["starts_at"] += clock.now()
    return [f"/{(await add_link(**fields)).short_code}" for _ in range(number)]


@pytest.mark.parametrize("lane", ["on", "off"])
@pytest.mark.parametrize("kind", ["unknown", *HIDDEN])
async def test_hidden_codes_use_up_tries_like_unknown_ones(
    kurz: Kurz, clock: FrozenClock, add_link: Add, lane: str, kind: str
):
    """A try for each lookup: of every code once, then again after half a minute."""
    settings = replace(kurz.settings, rate_limits="on", fast_lane=lane)
    codes = 10
    rounds = ALLOWED // codes
    paths = await paths_of(kind, codes, add_link, clock)
    async with open_kurz(settings, clock, Passwords(cost=4)) as parts, serving(parts) as port:
        with closing(LaneVisitor(port)) as visitor:
            for _ in range(rounds):
                for path in [*paths, *paths]:  # remembered by the second time
                    assert await visitor.ask(path) == 404
                clock.advance(microseconds=ABSENCE_MICROS)
            refused = [await visitor.ask(path) for path in paths].count(429)
            assert refused >= codes // 2  # a slow machine is given a few tries back meanwhile
