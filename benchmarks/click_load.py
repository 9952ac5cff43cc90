"""The clicks that `clicks.py` has counted: who visits which link, as journals have it."""

import bisect
import itertools
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from kurz.clicks.journal import Journal
from kurz.clicks.record import encode, link_tag_of, visit_of

GROUP = 50  # records in one write, as a busy worker shares it
WORKSPACE_ID = 1
NETWORKS, REFERRERS = 20_000, 300
LANGUAGES = [b"en-US", b"en-GB", b"de-DE", b"fr-FR", b"es-ES", b"ja", b"pt-BR", b"pl", b"zh-CN"]
SYSTEMS = (
    "Windows NT 10.0; Win64; x64",
    "Macintosh; Intel Mac OS X 10_15_7",
    "X11; Linux x86_64",
    "Linux; Android 14; SM-S{}B",
    "iPhone; CPU iPhone OS 17_{} like Mac OS X",
    "iPad; CPU OS 16_{} like Mac OS X",
)


class Visits:
    """Visits in turn: `agents` different user agents, or for 0 another one each time."""

    def __init__(self, agents: int) -> None:
        self._chance = random.Random(3)
        self._agents = [_agent(number, self._chance) for number in range(agents)]
        self._networks = [self._chance.randbytes(3) for _ in range(NETWORKS)]
        self._referrers = [b"https://site%d.example.org/page" % n for n in range(REFERRERS)]

    def __iter__(self) -> Iterator[bytes]:
        chance = self._chance
        for number in itertools.count():
            agent = chance.choice(self._agents) if self._agents else _agent(number, chance)
            yield visit_of(
                chance.choice(self._networks),
                chance.randbytes(8),
                0,
                agent,
                chance.choice(self._referrers) if chance.random() < 0.7 else b"",
                chance.choice(LANGUAGES),
            )


def _agent(number: int, chance: random.Random) -> bytes:
    if number % 25 == 0:
        return f"Mozilla/5.0 (compatible; SomeBot/{number}; +https://bot.example.com/)".encode()
    system = chance.choice(SYSTEMS).format(number)
    version = f"{100 + number % 40}.0.{number}.0"
    return (
        f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}"
        " Safari/537.36"
    ).encode()


def write_journal(folder: Path, link_ids: Sequence[int], clicks: int, agents: int) -> int:
    """Clicks on these links by Zipf's law, spread over the last minute; gives their bytes."""
    chance = random.Random(5)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(link_ids) + 1)))
    ids = list(link_ids)
    chance.shuffle(ids)
    link_tags = [link_tag_of(link_id, WORKSPACE_ID) for link_id in ids]
    visits = iter(Visits(agents))
    at = time.time_ns() // 1000 - 60_000_000
    journal = Journal(folder)
    journal.start()
    for first in range(0, clicks, GROUP):
        records = []
        for number in range(first, min(first + GROUP, clicks)):
            rank = bisect.bisect(weights, chance.random() * weights[-1])
            latency_ns = 20_000 + chance.randrange(50_000)
            instant = at + number * 60_000_000 // clicks
            records.append(encode(instant, latency_ns, link_tags[rank], next(visits)))
        journal.write(records)
    journal.close()
    if journal.records != clicks:
        raise RuntimeError("the journal could not be written")
    return journal.bytes
