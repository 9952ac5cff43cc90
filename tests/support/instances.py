"""Several instances of kurz on one database, each in a data folder of its own."""

import asyncio
import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kurz.feed.postgres import APPLICATION
from kurz.links.model import ROOT_WORKSPACE_ID, Status
from kurz.settings.model import Settings
from kurz.storage.engine.changes import record_changes
from kurz.wiring.core import open_kurz
from servers.dns import DnsServer
from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresServer
from servers.valkey import ValkeyServer
from support.program import Program

SECRET = secrets.token_hex(32)
WORKERS = 2


@dataclass(frozen=True)
class Instance:
    """One that reaches the servers through proxies of its own."""

    program: Program
    database: FaultProxy
    redis: FaultProxy | None


class Installation:
    """`environment` is that of every instance. Without Redis, they wake each other by the
    database."""

    def __init__(
        self,
        folder: Path,
        postgres: PostgresServer,
        database: str,
        *,
        has_redis: bool,
        **environment: str,
    ) -> None:
        self.programs: list[Program] = []
        self.dns = DnsServer()
        self.valkey = ValkeyServer() if has_redis else None
        self._folder = folder
        self._postgres = postgres
        self._database = database
        self._environment = environment
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        self._closing.enter_context(self.dns)
        if self.valkey is not None:
            self._closing.enter_context(self.valkey)
        return self

    def __exit__(self, *_: object) -> None:
        """The programs end first, while they reach everything."""
        self._closing.close()

    def add(self, **environment: str) -> Program:
        """Another instance, which serves when this returns; `environment` is only its own."""
        return self._start(self.settings, **environment)

    def add_behind_proxies(self) -> Instance:
        database = self._proxy(self._postgres.port)
        redis = None if self.valkey is None else self._proxy(self.valkey.port)
        settings = self._settings(database.port, None if redis is None else redis.port)
        return Instance(self._start(settings), database, redis)

    def ban(self, code: str) -> None:
        """As an administrator's work leaves it."""

        async def write() -> None:
            async with open_kurz(self.settings) as kurz:
                link = await kurz.store.find_by_code(ROOT_WORKSPACE_ID, code)
                assert link is not None
                assert await kurz.store.update(link, {"status": Status.BANNED}, kurz.clock.now())

        asyncio.run(write())

    def write_to_the_log(self, rows: int) -> None:
        """As if so many other links had been made."""

        async def write() -> None:
            async with open_kurz(self.settings) as kurz:
                new = [(10**9 + number, ROOT_WORKSPACE_ID, "", 1) for number in range(rows)]
                await kurz.database.write(record_changes, new, kurz.clock.micros())

        asyncio.run(write())

    @property
    def listeners(self) -> int:
        """Connections by which the database wakes instances."""
        return int(self._postgres.ask(f"SELECT count(*) {self._listeners}"))

    def end_listeners(self) -> None:
        """They may come back."""
        self._postgres.ask(f"SELECT count(pg_terminate_backend(pid)) {self._listeners}")

    def log(self) -> str:
        return "".join(program.log() for program in self.programs)

    @property
    def settings(self) -> Settings:
        """Those of a process that reaches everything."""
        redis_port = None if self.valkey is None else self.valkey.port
        return self._settings(self._postgres.port, redis_port)

    def _settings(self, database_port: int, redis_port: int | None) -> Settings:
        address = f"postgresql://postgres@127.0.0.1:{database_port}/{self._database}"
        return Settings(
            data_dir=self._folder / f"instance-{len(self.programs)}",
            database_url=address,
            redis_url=None if redis_port is None else f"redis://127.0.0.1:{redis_port}/0",
            secret=SECRET,
        )

    def _start(self, settings: Settings, **own: str) -> Program:
        environment = {
            "KURZ_DATA_DIR": str(settings.data_dir),
            "KURZ_DATABASE_URL": str(settings.database_url),
            "KURZ_DNS_SERVERS": self.dns.address,
            "KURZ_KEEP_ALIVE_SECONDS": "3600",
            "KURZ_SECRET": SECRET,
            "KURZ_WORKERS": str(WORKERS),
            **self._environment,
            **own,
        }
        if settings.redis_url is not None:
            environment["KURZ_REDIS_URL"] = settings.redis_url
        program = Program(environment, self._folder / f"log-{len(self.programs)}")
        self.programs.append(program.start())
        self._closing.callback(program.stop)
        return program

    def _proxy(self, port: int) -> FaultProxy:
        return self._closing.enter_context(FaultProxy(port))

    @property
    def _listeners(self) -> str:
        return (
            f"FROM pg_stat_activity WHERE application_name = '{APPLICATION}'"
            f" AND datname = '{self._database}'"
        )
