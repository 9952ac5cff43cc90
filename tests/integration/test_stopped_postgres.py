"""PostgreSQL that is killed, restarted, hangs or fails over: 503 for what needs it."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresPair, PostgresServer
from support.long_run import in_the_long_run
from support.outages import (
    ANSWER_SECONDS,
    RECOVERY_SECONDS,
    await_recovery,
    check_outage,
    check_refused_start,
    create,
    run_serve,
    timed,
)
from support.postgres_troubles import frozen, swallowed
from support.slack import slack

pytestmark = pytest.mark.deadlines
BROWSER = {"accept": "text/html"}
PERSON = {"email": "ada@example.com", "password": "correct horse battery staple"}
OTHER_HOST = {"host": "never.seen.example"}
LATE_SECONDS = slack(0.7)


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server that a test may break."""
    with PostgresServer() as server:
        yield server


def create_in_time(client: httpx2.Client) -> str:
    """The code. On a busy machine, a write may take longer than kurz waits."""
    started = time.monotonic()
    while (answer := create(client)).status_code != 201:
        assert time.monotonic() - started < RECOVERY_SECONDS
    return str(answer.json()["short_code"])


def test_postgres_killed_means_503_and_all_works_again_after_its_restart(
    own_postgres, start_program
):
    program = start_program(KURZ_DATABASE_URL=own_postgres.url())
    with program.client() as client:
        code = create(client, "https://example.com/kept").json()["short_code"]
        assert client.get(f"/{code}").status_code == 302
        other = create(client, "https://example.com/other").json()["short_code"]
        own_postgres.kill()
        for _ in range(15):  # more than the pool has connections
            check_outage(client.get(f"/{other}"))
            # What is in memory goes on working.
            assert client.get(f"/{code}").headers["location"] == "https://example.com/kept"
        for path in (f"/{other}", f"/{other}+", "/nothing", f"/@team/{code}"):
            for headers in ({}, BROWSER):
                answer, seconds = timed(client.get, path, headers=headers)
                check_outage(answer)
                assert seconds < ANSWER_SECONDS
        answer, seconds = timed(create, client)
        check_outage(answer)
        assert seconds < ANSWER_SECONDS
        check_outage(client.post("/", content="https://example.com/"))
        check_outage(client.get("/readyz"))
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.head(f"/{other}").status_code == 503
        own_postgres.start()
        await_recovery(client, f"/{other}")
        for _ in range(15):
            assert client.get(f"/{code}").headers["location"] == "https://example.com/kept"
        assert create(client).status_code == 201
        await_recovery(client, "/readyz", 200)
        assert client.get("/nothing").status_code == 404
    assert "request failed" not in program.log()


def test_postgres_restarted_behind_idle_connections_is_noticed_by_nobody(
    own_postgres, start_program
):
    program = start_program(KURZ_DATABASE_URL=own_postgres.url())
    with program.client() as client, ThreadPoolExecutor(8) as pool:
        code = create(client).json()["short_code"]
        # Opens several connections of the pool. On a busy machine that can take longer than a visit
        # waits for the database, so a few of these may get 503.
        assert 302 in {answer.status_code for answer in pool.map(client.get, [f"/{code}"] * 40)}
        own_postgres.kill()
        own_postgres.start()
        assert [client.get(f"/{code}").status_code for _ in range(10)] == [302] * 10


@pytest.mark.parametrize("trouble", [swallowed, *in_the_long_run(frozen)])
def test_a_postgres_that_hangs_means_503_in_bounded_time(own_postgres, start_program, trouble):
    with FaultProxy(own_postgres.port) as proxy:
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
        program = start_program(KURZ_DATABASE_URL=url)
        with program.client() as client, ThreadPoolExecutor(20) as pool:
            kept = create_in_time(client)
            await_recovery(client, f"/{kept}")
            code = create_in_time(client)
            token = client.post("/api/v1/auth/register", json=PERSON).json()["token"]
            person = {"authorization": f"Bearer {token}"}
            with trouble(own_postgres, proxy):
                visits = [pool.submit(timed, client.get, f"/{code}") for _ in range(10)]
                visits.append(pool.submit(timed, client.get, f"/@team/{code}"))
                visits.append(pool.submit(timed, client.get, f"/{code}", headers=OTHER_HOST))
                creates = [pool.submit(timed, create, client) for _ in range(5)]
                creates.append(pool.submit(timed, client.get, "/readyz"))
                creates.append(pool.submit(timed, client.get, "/api/v1/me", headers=person))
                for calls, longest_seconds in ((visits, 0.25), (creates, 1.0)):
                    for call in calls:
                        answer, seconds = call.result()
                        check_outage(answer)
                        assert seconds < longest_seconds + LATE_SECONDS
                assert client.get("/healthz").status_code == 200
                assert client.get(f"/{kept}").status_code == 302
            await_recovery(client, f"/{code}")
            started = time.monotonic()
            while create(client).status_code != 201 or client.get("/readyz").status_code != 200:
                assert time.monotonic() - started < RECOVERY_SECONDS
        assert "request failed" not in program.log()


def test_when_the_standby_is_promoted_the_program_goes_on_with_it(start_program):
    with PostgresPair() as pair:
        hosts = f"127.0.0.1:{pair.primary.port},127.0.0.1:{pair.standby.port}"
        program = start_program(KURZ_DATABASE_URL=f"postgresql://postgres@{hosts}/postgres")
        with program.client() as client:
            codes = [create(client).json()["short_code"] for _ in range(20)]
            pair.primary.kill()
            check_outage(create(client))
            pair.standby.promote()
            for code in codes:
                await_recovery(client, f"/{code}")
            started = time.monotonic()
            while create(client).status_code != 201:
                assert time.monotonic() - started < RECOVERY_SECONDS
            assert client.get("/readyz").status_code == 200
        assert "request failed" not in program.log()


def test_a_start_without_postgres_says_so_in_one_line(tmp_path):
    ended = run_serve(tmp_path, KURZ_DATABASE_URL="postgresql://postgres@127.0.0.1:1/x")
    check_refused_start(ended, 69)
