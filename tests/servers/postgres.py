"""Real PostgreSQL servers for tests: one alone, and a primary with a standby."""

import signal
from collections.abc import Sequence
from pathlib import Path
from time import sleep

from servers.binaries import postgres_programs
from servers.group import ServerGroup
from servers.process import HOST, Server, ServerError, run
from servers.psql import Psql

USER = "postgres"


class PostgresServer(Server):
    """PostgreSQL with durable commits (fsync is on), as many databases as wanted, no password.

    Keyword arguments are settings of postgresql.conf, which go before the ones below.
    """

    stop_signal = signal.SIGINT
    orphan_signal = signal.SIGQUIT

    def __init__(self, **settings: str) -> None:
        super().__init__()
        self._settings = {
            "shared_buffers": "32MB",
            "max_connections": "100",
            # Kept in the folder, so that a kill leaves nothing behind in shared memory.
            "dynamic_shared_memory_type": "mmap",
            **settings,
            "listen_addresses": HOST,
            "unix_socket_directories": "",
        }
        self._psql: Psql | None = None

    def url(self, database: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://{USER}@{HOST}:{self.port}/{database}"

    def create_database(self, name: str, template: str = "template0") -> None:
        """Creates an empty database, or a copy of another one."""
        self._tell(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')

    def drop_database(self, name: str) -> None:
        """Drops a database and the connections to it."""
        self._tell(f'DROP DATABASE "{name}" WITH (FORCE)')

    def ask(self, statement: str) -> str:
        """What `psql` prints for a statement: a value, or lines of them."""
        return self._client("psql", "-XAtc", statement, f"{self.url()}?connect_timeout=2").strip()

    def kill(self) -> None:
        super().kill()
        if self._psql is not None:
            self._psql.close()
            self._psql = None

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _prepare(self) -> None:
        options = ["--no-sync", "--auth=trust", "--no-locale", "-E", "UTF8", "-U", USER]
        run(postgres_programs() / "initdb", *options, "-D", self._data)

    def _command(self) -> Sequence[str | Path]:
        settings = {**self._settings, "port": str(self.port)}
        flags = [f"--{name}={value}" for name, value in settings.items()]
        return [postgres_programs() / "postgres", "-D", self._data, *flags]

    def _answers(self) -> bool:
        # Whatever else may have taken the port need not speak the protocol: hence the time limit.
        try:
            return self.ask("SHOW data_directory") == str(self._data)
        except ServerError:
            return False

    def _tell(self, statement: str) -> None:
        if self._psql is None:
            self._psql = Psql(self.url())
        self._psql.tell(statement)

    def _client(self, program: str, *arguments: str) -> str:
        address = ["-h", HOST, "-p", str(self.port), "-U", USER]
        return run(postgres_programs() / program, *address, *arguments)


class PostgresStandby(PostgresServer):
    """A copy of a running server, which follows it and answers reads, until it is promoted."""

    def __init__(self, primary: PostgresServer, **settings: str) -> None:
        super().__init__(wal_retrieve_retry_interval="100ms", **settings)
        self._primary = primary

    def promote(self) -> None:
        """Makes it a server of its own, which takes writes when this returns."""
        if self.ask("SELECT pg_promote()") != "t":
            raise ServerError("the standby could not be promoted")

    def pause_replay(self) -> None:
        """What is committed from now on is received and kept, but not seen here: a replica that is
        behind for as long as wanted."""
        self.ask("SELECT pg_wal_replay_pause()")
        while self.ask("SELECT pg_get_wal_replay_pause_state()") != "paused":
            sleep(0.01)

    def resume_replay(self) -> None:
        self.ask("SELECT pg_wal_replay_resume()")

    def _prepare(self) -> None:
        options = ["--checkpoint=fast", "--write-recovery-conf", "--no-sync"]
        self._primary._client("pg_basebackup", *options, "-D", str(self._data))


class PostgresPair(ServerGroup):
    """A primary and its standby. If they are synchronous, a commit is acknowledged once both have
    it on disk, and waits for as long as there is no standby; else the standby may be behind.

    Keyword arguments are settings of both.
    """

    def __init__(self, *, synchronous: bool = True, **settings: str) -> None:
        names = "*" if synchronous else ""
        self.primary = PostgresServer(**settings, synchronous_standby_names=names)
        # Alone after its promotion, it would wait for ever if it wanted a standby of its own.
        self.standby = PostgresStandby(self.primary, **settings)
        self.servers = [self.primary, self.standby]
        self._sync_state = "sync" if synchronous else "async"

    def catch_up(self) -> None:
        """Returns when the standby shows all that was committed before the call."""
        position = self.primary.ask("SELECT pg_current_wal_lsn()")
        seen = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        self._wait("the replay", lambda: self.standby.ask(seen) == "t")

    def _join(self) -> None:
        state = "SELECT state, sync_state FROM pg_stat_replication"
        wanted = f"streaming|{self._sync_state}"
        self._wait("the replication", lambda: self.primary.ask(state) == wanted)
