"""The test servers themselves: they answer, survive a kill, and never outlive the tests."""

import asyncio
import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from servers import process
from servers.postgres import PostgresServer
from servers.process import HOST, Server, ServerError
from servers.valkey import ValkeyServer

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.long  # servers of the tests themselves

START_BOTH = """
from servers.postgres import PostgresServer
from servers.valkey import ValkeyServer

with PostgresServer() as postgres, ValkeyServer() as valkey:
    print(postgres.pid, valkey.pid, flush=True)
    input()
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """One server for the tests that leave it running."""
    with PostgresServer() as server:
        yield server


def ask_postgres(url: str, *statements: str) -> object:
    """Runs the statements on one connection and gives the first value of the last."""

    async def ask() -> object:
        connection = await asyncpg.connect(url)
        try:
            return [await connection.fetchval(statement) for statement in statements][-1]
        finally:
            await connection.close()

    return asyncio.run(ask())


def listens(port: int) -> bool:
    """Whether anything accepts connections on the port."""
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection((HOST, port), timeout=5).close()
        return True
    return False


def test_postgres_answers_and_syncs(postgres: PostgresServer) -> None:
    assert str(ask_postgres(postgres.url(), "SELECT version()")).startswith("PostgreSQL 18.")
    assert ask_postgres(postgres.url(), "SHOW fsync") == "on"


def test_databases_are_empty_and_can_be_dropped(postgres: PostgresServer) -> None:
    count = "SELECT count(*) FROM pg_stat_user_tables"
    for _ in range(2):
        postgres.create_database("own")
        url = postgres.url("own")
        assert ask_postgres(url, count) == 0
        assert ask_postgres(url, "CREATE TABLE t (n int)", count) == 1
        postgres.drop_database("own")
        with pytest.raises(asyncpg.InvalidCatalogNameError):
            ask_postgres(url, count)


def test_databases_are_made_by_a_server_that_was_restarted(postgres: PostgresServer) -> None:
    for name in "first", "second":
        postgres.create_database(name)
        postgres.restart()
    assert ask_postgres(postgres.url("second"), "SELECT current_database()") == "second"


def test_a_failing_tool_says_why(postgres: PostgresServer) -> None:
    with pytest.raises(ServerError, match='database "missing" does not exist'):
        postgres.drop_database("missing")


def test_killed_postgres_restarts_with_its_data() -> None:
    with PostgresServer() as server:
        url = server.url()
        ask_postgres(url, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (42)")
        server.kill()
        assert not listens(server.port)
        server.start()
        assert server.url() == url
        assert ask_postgres(url, "SELECT n FROM t") == 42
    assert not server.folder.exists()


def test_restart_keeps_data_and_port(postgres: PostgresServer) -> None:
    pid, port = postgres.pid, postgres.port
    postgres.ask("CREATE TABLE kept (n int)")
    postgres.restart()
    assert postgres.pid != pid
    assert postgres.port == port
    assert postgres.ask("SELECT count(*) FROM kept") == "0"
    log = (postgres.folder / "server.log").read_text()
    assert "not properly shut down" not in log


def test_kill_ends_busy_backends_at_once() -> None:
    async def kill_during_query(server: PostgresServer) -> None:
        connection = await asyncpg.connect(server.url())
        endless = "SELECT count(*) FROM generate_series(1, 1000000000000)"
        query = asyncio.create_task(connection.fetchval(endless))
        await asyncio.sleep(0.1)
        server.kill()
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await asyncio.wait_for(query, 5)
        connection.terminate()

    with PostgresServer() as server:
        asyncio.run(kill_during_query(server))
        server.start()


def test_killed_valkey_restarts_empty() -> None:
    with ValkeyServer() as server:
        url = server.url
        assert server.ask("PING") == "+PONG\r\n"
        assert server.ask("SET key value") == "+OK\r\n"
        server.kill()
        assert not listens(server.port)
        server.start()
        assert server.url == url
        assert server.ask("GET key") == "$-1\r\n"
    assert not server.folder.exists()


def test_options_reach_valkey() -> None:
    with ValkeyServer(maxmemory="2mb", maxmemory_policy="allkeys-lru") as server:
        assert server.ask("CONFIG GET maxmemory").split()[-1] == "2097152"
        assert server.ask("CONFIG GET maxmemory-policy").split()[-1] == "allkeys-lru"
        with pytest.raises(ServerError, match="wrong number of arguments"):
            server.ask("GET")


@pytest.mark.parametrize("kind", [PostgresServer, ValkeyServer])
def test_a_lost_race_for_the_port_is_run_again(
    kind: type[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((HOST, 0)) as winner:
        taken = winner.getsockname()[1]
        ports = iter([taken, process.free_port()])
        monkeypatch.setattr(process, "free_port", lambda: next(ports))
        with kind() as server:
            assert server.port != taken


def test_a_failed_start_shows_the_log_and_leaves_nothing() -> None:
    server = PostgresServer(shared_buffers="nonsense")
    with pytest.raises(ServerError, match='invalid value for parameter "shared_buffers"'):
        server.start()
    assert not server.folder.exists()


def test_servers_die_with_the_process_that_started_them() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # Nobody is left to remove the folders of the servers, so they go into one of ours.
        Path(folder).chmod(0o711)
        environment = {**os.environ, "TMPDIR": folder}
        command = [sys.executable, "-c", START_BOTH]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=TESTS, env=environment, stdin=pipe, stdout=pipe
        ) as starter:
            assert starter.stdout is not None
            servers = [os.pidfd_open(int(pid)) for pid in starter.stdout.readline().split()]
            starter.kill()
        assert len(servers) == 2
        for server in servers:
            ended, _, _ = select.select([server], [], [], 10)
            assert ended
            os.close(server)
