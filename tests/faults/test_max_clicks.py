"""A limited link leads on exactly as often as it may: by many workers, by several instances, for
visitors who come at once; and not at all while the store is away."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kurz.settings.model import Settings
from kurz.wiring.read_path import FEED_STALE_SECONDS
from servers.postgres import PostgresServer
from support.crowd import BROWSER, CLICKS, TRIES, VISITORS, Crowd, recorded
from support.http import Line, get
from support.instances import Installation
from support.program import Program

WORKERS = {"KURZ_WORKERS": "4"}
# A busy machine must not fail it.
PATIENT = {
    "KURZ_DATABASE_LOOKUP_MILLISECONDS": "20000",
    "KURZ_DATABASE_WRITE_MILLISECONDS": "20000",
}

pytestmark = pytest.mark.timeout(1800)
rounds = pytest.mark.parametrize("rounds", [3, pytest.param(200, marks=pytest.mark.long)])


@pytest.fixture(
    params=[False, pytest.param(True, marks=pytest.mark.long)], ids=["alone", "with Redis"]
)
def installation(
    request: pytest.FixtureRequest, tmp_path: Path, postgres: PostgresServer, postgres_url: str
) -> Iterator[Installation]:
    name = postgres_url.rpartition("/")[2]
    with Installation(
        tmp_path, postgres, name, has_redis=request.param, **WORKERS, **PATIENT
    ) as it:
        yield it


async def check_rounds(
    programs: Sequence[Program], settings: Settings, folders: Sequence[Settings], rounds: int
) -> None:
    async with Crowd(programs, settings) as crowd:
        links = [await crowd.make() for _ in range(rounds)]
        for link in links:
            statuses = await crowd.storm(link)
            assert statuses == {302: CLICKS, 410: VISITORS * TRIES - CLICKS}
            spent = await crowd.find(link)
            assert spent is not None
            assert (spent.clicks_used, spent.version) == (CLICKS, link.version + 1)
        assert recorded(folders) == Counter({link.id: CLICKS for link in links})


@rounds
async def test_two_instances_with_four_workers_each_give_out_no_click_too_many(
    installation, rounds
):
    folders = []
    for _ in range(2):
        folders.append(installation.settings)
        installation.add()
    await check_rounds(installation.programs, folders[0], folders, rounds)


@rounds
async def test_four_workers_on_sqlite_give_out_no_click_too_many(
    start_program: Callable[..., Program], tmp_path: Path, rounds
):
    program = start_program(**WORKERS)
    settings = Settings(data_dir=tmp_path / "kurz-data")
    await check_rounds([program], settings, [settings], rounds)


async def test_while_the_database_is_away_no_click_is_given_out(installation):
    """Though memory has the link, and Redis; others go on. Until changes are not heard of any more,
    and after that."""
    instance = installation.add_behind_proxies()
    async with Crowd(installation.programs, installation.settings) as crowd:
        limited, other = await crowd.make(), await crowd.make_unlimited()
        async with await Line.open(instance.program) as line:
            for link in (limited, other):
                answer = await line.ask(get(f"/{link.short_code}", BROWSER))
                assert answer.status == 302
            instance.database.cut()
            ends_at = time.monotonic() + FEED_STALE_SECONDS + 2
            while time.monotonic() < ends_at:
                answer = await line.ask(get(f"/{limited.short_code}", BROWSER))
                assert (answer.status, answer.header("retry-after")) == (503, "5")
                assert answer.header("location") is None
                assert (await line.ask(get(f"/{other.short_code}", BROWSER))).status == 302
            instance.database.pass_on()
        spent = await crowd.find(limited)
        assert spent is not None
        assert spent.clicks_used == 1
