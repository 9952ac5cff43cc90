"""A kurz that was installed as people install it, used from outside."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.program import Program

DESTINATION = "https://example.com/handbook"


class InstalledProgram(Program):
    """`command` starts it: the program that an installer made, or another one that runs that."""

    start_seconds = 900  # Python compiles every module first, and a tracer slows it down
    end_seconds = 300

    def __init__(
        self, command: Sequence[str | Path], environment: dict[str, str], log: Path
    ) -> None:
        super().__init__(environment, log)
        self._command = command

    def _launch(self, files: list[int]) -> "subprocess.Popen[bytes]":
        stdin, stdout, stderr = files
        return subprocess.Popen(
            [*self._command, "serve"],
            env=self._full_environment,
            cwd=self._environment["KURZ_DATA_DIR"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )


def create_link(program: Program) -> str:
    """Its path."""
    with program.client() as client:
        created = client.post("/api/v1/links", json={"original_url": DESTINATION})
    assert created.status_code == 201, created.text
    return f"/{created.json()['short_code']}"


def assert_followed(program: Program, path: str) -> None:
    with program.client() as client:
        answer = client.get(path)
    assert (answer.status_code, answer.headers["location"]) == (302, DESTINATION)


def assert_has_dashboard(program: Program) -> None:
    with program.client(headers={"accept": "text/html"}) as client:
        page = client.get("/app/")
    assert page.status_code == 200
    assert "<script" in page.text
