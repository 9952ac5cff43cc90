"""What PostgreSQL itself says that it was asked for."""

import re
from collections import Counter

from servers.postgres import PostgresServer

# The lookups of the read path: many codes at a time, and no parameter after them.
_CODES = re.compile(r"(?m)arameters: \$1 = '\{[\d,]*\}', \$2 = '\{([^}]*)\}'$")


class StatementLog:
    """From here on, or from the last reading; of connections to this database that come later."""

    def __init__(self, server: PostgresServer, url: str) -> None:
        database = url.rpartition("/")[2]
        server.ask(f"ALTER DATABASE {database} SET log_statement = 'all'")
        self._file = server.folder / "server.log"
        self._position = self._file.stat().st_size

    def read(self) -> Counter[str]:
        """How often each code was looked up."""
        with self._file.open("rb") as log:
            log.seek(self._position)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._position += len(whole)
        return Counter(
            code for codes in _CODES.findall(whole.decode()) for code in codes.split(",")
        )
