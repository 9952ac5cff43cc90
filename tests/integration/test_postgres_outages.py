"""PostgreSQL goes away and comes back under load, and workers end meanwhile. `tests/faults` has the
long version."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresServer
from support.endurance import Endurance
from support.long_run import in_the_long_run
from support.postgres_troubles import killed, swallowed
from support.program import Program
from support.slack import slack

DEADLINE_SECONDS = slack(5.0)


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server that a test may break, with durable commits."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def proxy(own_postgres: PostgresServer) -> Iterator[FaultProxy]:
    with FaultProxy(own_postgres.port) as proxy:
        yield proxy


@pytest.mark.parametrize(("seconds", "restarts"), [(3, 1), *in_the_long_run((6, 3))])
def test_killed_and_restarted_under_load_it_loses_nothing_that_was_acknowledged(
    own_postgres, proxy, start_program, seconds, restarts
):
    endurance = Endurance(start_program, {"KURZ_DATABASE_URL": own_postgres.url()})
    with endurance.load(lives_seconds=(6, 20)):
        endurance.run(1)
        with endurance.outage(killed(own_postgres, proxy)):
            endurance.run(seconds)
        for _ in range(restarts):
            endurance.run(1)
            with endurance.outage(killed(own_postgres, proxy)):
                pass
        endurance.run(3)
    endurance.check(f"killed for {seconds} s, restarted {restarts} times")


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.mark.parametrize("trouble", [killed, *in_the_long_run(swallowed)])
def test_a_worker_that_ends_while_the_database_is_out_comes_back_with_it(
    own_postgres, proxy, start_program: Callable[..., Program], trouble
):
    url = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
    program = start_program(KURZ_WORKERS="2", KURZ_DATABASE_URL=url)
    wait_until(lambda: len(program.workers) == 2 and len(program.jobs) == 1)
    ended, other = program.workers
    with trouble(own_postgres, proxy):
        os.kill(ended, signal.SIGKILL)
        program.process.send_signal(signal.SIGHUP)  # and to renew the rest is of no use now
        wait_until(lambda: program.log().count("process ended; starting another one") > 1)
        assert other in program.workers
        with program.client() as client:
            assert client.get("/nothing").status_code == 503
    wait_until(lambda: len(program.workers) == 2 and ended not in program.workers)
    with program.client() as client:
        wait_until(lambda: client.get("/nothing").status_code == 404)
    assert program.process.poll() is None
    assert "Traceback" not in program.log()
