"""A real Valkey server for tests."""

import signal
import socket
from collections.abc import Sequence
from pathlib import Path

from servers.binaries import valkey_server
from servers.process import HOST, Server


class ValkeyServer(Server):
    """Valkey that keeps everything in memory: a kill forgets it all."""

    stop_signal = signal.SIGTERM
    orphan_signal = signal.SIGKILL

    @property
    def url(self) -> str:
        """The address of the first database."""
        return f"redis://{HOST}:{self.port}/0"

    def _prepare(self) -> None:
        """Valkey needs nothing."""

    def _command(self) -> Sequence[str | Path]:
        options = {"bind": HOST, "port": str(self.port), "save": "", "appendonly": "no"}
        flags = [part for name, value in options.items() for part in (f"--{name}", value)]
        return [valkey_server(), *flags]

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                connection.sendall(b"INFO server\r\n")
                return f"process_id:{self.pid}\r\n".encode() in connection.recv(65_536)
        except OSError:
            return False
