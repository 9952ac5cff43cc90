"""A connection to PostgreSQL that stays open: the start of a tool takes longer than its work."""

import subprocess

from servers.binaries import account, postgres_programs
from servers.process import ENVIRONMENT, ServerError

DONE = "done"


class Psql:
    """`psql`, told one statement after the other. It ends when it is closed, when the server does,
    or when we die."""

    def __init__(self, url: str) -> None:
        self._process = subprocess.Popen(
            [postgres_programs() / "psql", "-Xq", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env=ENVIRONMENT,
            **account(),
        )

    def tell(self, statement: str) -> None:
        """Returns when the statement was carried out; an error is raised."""
        process = self._process
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(f"{statement};\n\\warn {DONE}\n")
        process.stdin.flush()
        said = ""
        for line in process.stderr:
            if line == f"{DONE}\n":
                break
            said += line
        else:
            said += "psql has ended"
        if said:
            raise ServerError(said)

    def close(self) -> None:
        self._process.communicate()
