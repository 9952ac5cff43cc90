"""What can happen to PostgreSQL, for as long as a `with` lasts."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import asyncpg

from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresServer
from support.every_worker import is_stopped, wait_until

Trouble = Callable[[PostgresServer, FaultProxy], AbstractContextManager[None]]


@contextmanager
def killed(server: PostgresServer, _: FaultProxy) -> Iterator[None]:
    """The end is when it answers again."""
    server.kill()
    yield
    server.start()


@contextmanager
def frozen(server: PostgresServer, _: FaultProxy) -> Iterator[None]:
    """Stops a server and its workers without ending them: connections stay open, nobody answers."""
    os.kill(server.pid, signal.SIGSTOP)  # first, so that it starts no more workers
    wait_until(lambda: is_stopped(server.pid))
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    processes = [server.pid, *map(int, children)]
    for process in processes[1:]:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with suppress(ProcessLookupError):  # an autovacuum worker may end by itself
                os.kill(process, signal.SIGCONT)


@contextmanager
def swallowed(_: PostgresServer, proxy: FaultProxy) -> Iterator[None]:
    """Nothing gets through to the server any more, and nobody is told."""
    proxy.black_hole()
    yield
    proxy.pass_on()


@contextmanager
def cut(_: PostgresServer, proxy: FaultProxy) -> Iterator[None]:
    proxy.cut()
    yield
    proxy.pass_on()


@contextmanager
def slow(_: PostgresServer, proxy: FaultProxy) -> Iterator[None]:
    """Every answer takes longer than anybody waits."""
    proxy.delay(3.0)
    yield
    proxy.pass_on()


@contextmanager
def locked(server: PostgresServer, _: FaultProxy) -> Iterator[None]:
    """Somebody holds the table of links, against readers too."""
    with asyncio.Runner() as runner:
        holder = runner.run(asyncpg.connect(server.url()))
        runner.run(holder.execute("BEGIN; LOCK TABLE links"))
        yield
        runner.run(holder.close())


@contextmanager
def read_only(server: PostgresServer, _: FaultProxy) -> Iterator[None]:
    set_read_only(server, "on")
    yield
    set_read_only(server, "off")


def set_read_only(server: PostgresServer, value: str) -> None:
    server.ask(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
    server.ask("SELECT pg_reload_conf()")


@contextmanager
def crowded(server: PostgresServer, _: FaultProxy) -> Iterator[None]:
    """Others have all the connections there are, after ours were ended."""
    with asyncio.Runner() as runner:
        crowd = runner.run(_occupy(server.url()))
        yield
        for member in crowd:
            runner.run(member.close())


async def _occupy(url: str) -> list[asyncpg.Connection]:
    others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND usename <> 'crowd'"
    first = await asyncpg.connect(url)
    await first.execute("CREATE ROLE crowd LOGIN SUPERUSER")
    url, crowd = url.replace("postgres@", "crowd@"), []
    crowd.append(await asyncpg.connect(url))
    await first.close()
    while await crowd[0].fetchval(f"SELECT count(*) {others}"):
        await crowd[0].execute(f"SELECT pg_terminate_backend(pid) {others}")
        with suppress(asyncpg.TooManyConnectionsError):
            while True:
                crowd.append(await asyncpg.connect(url))
    return crowd
