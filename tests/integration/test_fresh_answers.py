"""Four workers serve while links, workspaces and domains change: all of them answer right, soon."""

import statistics
from collections.abc import Callable, Iterator

import pytest

from servers.dns import DnsServer
from support.editor import Author, Editor
from support.every_worker import EveryWorker
from support.program import Program

WORKERS = 4
# Half of what the look at the log once a second would take: wake-ups come through.
USUAL_SECONDS = 0.25


@pytest.fixture
def dns() -> Iterator[DnsServer]:
    with DnsServer() as server:
        yield server


@pytest.fixture
def program(
    environment: dict[str, str], dns: DnsServer, start_program: Callable[..., Program]
) -> Program:
    return start_program(
        **environment,
        KURZ_WORKERS=str(WORKERS),
        KURZ_KEEP_ALIVE_SECONDS="3600",
        KURZ_DNS_SERVERS=dns.address,
    )


def change_everything(program: Program, dns: DnsServer, **rounds: int) -> int:
    """Gives the number of changes."""
    with EveryWorker([program], WORKERS) as workers, Author([program]) as author:
        Editor(author, workers).change_everything(dns, **rounds)
        workers.report()
    delays = [delay for delays in workers.delays.values() for delay in delays]
    assert statistics.median(delays) < USUAL_SECONDS
    assert "Traceback" not in program.log()
    return len(workers.changes)


def test_every_worker_knows_of_every_change_within_a_second(program, dns):
    assert change_everything(program, dns, links=1, expiries=1, commands=1, workspaces=1) >= 20


@pytest.mark.long
@pytest.mark.timeout(600)
def test_every_worker_knows_of_hundreds_of_changes_within_a_second(program, dns):
    assert change_everything(program, dns, links=20, expiries=20, commands=6, workspaces=8) >= 200
