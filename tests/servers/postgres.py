"""A real PostgreSQL server for tests."""

import signal
from collections.abc import Sequence
from pathlib import Path

from servers.binaries import postgres_programs
from servers.process import HOST, Server, ServerError, run

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

    def url(self, database: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://{USER}@{HOST}:{self.port}/{database}"

    def create_database(self, name: str, template: str = "template0") -> None:
        """Creates an empty database, or a copy of another one."""
        self._client("createdb", f"--template={template}", "--strategy=file_copy", name)

    def drop_database(self, name: str) -> None:
        """Drops a database and the connections to it."""
        self._client("dropdb", "--force", name)

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
        query = ["-XAtc", "SHOW data_directory", f"{self.url()}?connect_timeout=2"]
        try:
            return self._client("psql", *query).strip() == str(self._data)
        except ServerError:
            return False

    def _client(self, program: str, *arguments: str) -> str:
        address = ["-h", HOST, "-p", str(self.port), "-U", USER]
        return run(postgres_programs() / program, *address, *arguments)
