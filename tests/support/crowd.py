"""Many visitors at once who all want the same limited link, and others who only look at it."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Self

from kurz.links.model import Draft, Link, Scope
from kurz.settings.model import Settings
from kurz.wiring.core import open_kurz
from support.http import Line, get
from support.journal_reader import read_all
from support.program import Program

VISITORS = 64
CLICKS = 100
TRIES = 3  # of each visitor; together more than there are clicks
BROWSER = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
BOT = "User-Agent: facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"
LOOKS = [
    ("HEAD", BROWSER),
    ("GET", BOT),
    ("GET", f"{BROWSER}\r\nSec-Purpose: prefetch"),
    ("GET", "User-Agent: "),
]
ANY = Scope()


class Crowd:
    """`settings` are those of a process that reaches the store of all the programs."""

    def __init__(self, programs: Sequence[Program], settings: Settings, seed: int = 0) -> None:
        self._programs = programs
        self._settings = settings
        self._chance = random.Random(seed)
        self._closing = AsyncExitStack()
        self._lines: list[Line] = []

    async def __aenter__(self) -> Self:
        enter = self._closing.enter_async_context
        self._kurz = await enter(open_kurz(self._settings))
        for number in range(VISITORS):
            program = self._programs[number % len(self._programs)]
            self._lines.append(await enter(await Line.open(program)))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    async def make(self) -> Link:
        draft = Draft(original_url="https://example.com/once", owner_id=1, max_clicks=CLICKS)
        return (await self._kurz.links.create(draft)).link

    async def make_unlimited(self) -> Link:
        draft = Draft(original_url="https://example.com/often", owner_id=1)
        return (await self._kurz.links.create(draft)).link

    async def storm(self, link: Link) -> Counter[int]:
        """The statuses that those got who wanted to follow it."""
        found = await asyncio.gather(
            *(self._visit(line, f"/{link.short_code}") for line in self._lines)
        )
        return Counter(status for statuses in found for status in statuses)

    async def find(self, link: Link) -> Link | None:
        return await self._kurz.store.find(link.id, ANY)

    async def _visit(self, line: Line, target: str) -> list[int]:
        acts: list[tuple[str, str] | None] = [*[None] * TRIES, self._chance.choice(LOOKS)]
        self._chance.shuffle(acts)
        statuses = []
        for look in acts:
            method, fields = look or ("GET", BROWSER)
            answer = await line.ask(get(target, fields, method=method))
            has_location = answer.header("location") is not None
            if look is None:
                assert has_location is (answer.status == 302)
                statuses.append(answer.status)
            else:
                assert answer.status in (200, 410), (look, answer)
                assert not has_location
                assert b"example.com/once" not in answer.body
        return statuses


def recorded(settings: Sequence[Settings]) -> Counter[int]:
    """By link, the clicks in the journals of these instances."""
    return Counter(click.link_id for one in settings for click in read_all(one.journal_dir))
