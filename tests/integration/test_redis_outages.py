"""Redis is away, stuck, full or wrong: visitors get the same answers, and the database is not
asked more often than it has to be."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx2
import pytest

from kurz.storage.engine.deadlines import USUAL
from support.clicks import wait_until
from support.load import Load
from support.long_run import in_the_long_run
from support.patience import PATIENT, as_environment
from support.program import Program
from support.redis_faults import FAULTS, Scene
from support.slack import IS_STRICT
from support.statements import StatementLog
from support.trial import Trial

API = "/api/v1/links"
SECONDS = {"killed": 6.0, "paused": 2.0, "shifted": 1.0, "full": 1.0, "removed": 1.0, "cut": 1.0}
FEWER_SECONDS = {"killed": 2.0, "paused": 1.0}  # away, stuck
TOGETHER = 40


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


def start(start_program: Callable[..., Program], scene: Scene, postgres_url: str) -> Program:
    return start_program(
        KURZ_DATABASE_URL=postgres_url,
        KURZ_REDIS_URL=scene.url,
        KURZ_WORKERS="2",
        KURZ_HOT_LINKS="50",
        KURZ_METRICS="public",
        **as_environment(USUAL if IS_STRICT else PATIENT),
    )


@pytest.mark.parametrize("kinds", [FEWER_SECONDS, *in_the_long_run(SECONDS)], ids=["some", "all"])
def test_nobody_notices_that_redis_is_out(scene, start_program, postgres_url, kinds):
    program = start(start_program, scene, postgres_url)
    with Trial(program, Load(program)) as trial:
        before = trial.numbers()
        for fault, seconds in kinds.items():
            trial.endure(fault, FAULTS[fault](scene), seconds)
        after = trial.numbers()
        wait_until(lambda: trial.numbers()["cache_out"] == 0)
    assert trial.report() == []
    assert after["cache_errors_total"] > before["cache_errors_total"]


def test_a_cold_code_is_looked_up_once_a_worker(scene, start_program, postgres, postgres_url):
    """However many ask for it, and whether or not Redis answers."""
    log = StatementLog(postgres, postgres_url)
    program = start(start_program, scene, postgres_url)
    with program.client() as client:
        link = {"original_url": "https://example.com/cold"}
        codes = [client.post(API, json=link).json()["short_code"] for _ in range(6)]
    with ExitStack() as stack, ThreadPoolExecutor(TOGETHER) as pool:
        clients = [stack.enter_context(program.client()) for _ in range(TOGETHER)]

        def visit(client: httpx2.Client, code: str) -> str | None:
            return client.get(f"/{code}").headers.get("location")

        def visit_all(some: Sequence[str]) -> None:
            for code in some:
                found = [*pool.map(visit, clients, [code] * TOGETHER)]
                assert found == ["https://example.com/cold"] * TOGETHER

        visit_all(codes[:2])
        with FAULTS["paused"](scene):
            visit_all(codes[2:4])
        with FAULTS["cut"](scene):
            visit_all(codes[4:])
    asked = log.read()
    assert all(1 <= asked[code] <= 2 for code in codes), asked
