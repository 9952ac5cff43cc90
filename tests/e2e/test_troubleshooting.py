"""What `kurz doctor` and `kurz serve` say of installations that do not work: the table in the
guide, row by row, in real processes."""

import os
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from support import nursery
from support.broken import FILE_LIMIT, SITUATIONS, Scene, on_full_disk
from support.program import Program
from support.terminal import KURZ

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "troubleshooting.md"
ROW = re.compile(r"^\| (.+?) \| `(.+)` \| (`[✗!] .+?`|\d+) \| (\d+|warns|starts) \|$", re.MULTILINE)


class Row(NamedTuple):
    sentence: str
    doctor: str  # the head of a line, or an exit code
    serve: str  # an exit code, or what it does


ROWS = {name: Row(*rest) for name, *rest in ROW.findall(PAGE.read_text())}


@pytest.fixture
def scene(tmp_path, sqlite_template, postgres, valkey):
    home = tmp_path / "home"
    home.mkdir()
    names = {f"{home}/data": "/srv/kurz", f"(ID {os.geteuid()})": "(ID 1000)"}
    with ExitStack() as closing:
        yield Scene(home / "data", sqlite_template, postgres, valkey, closing, names)


def test_the_table_is_whole():
    assert list(ROWS) == list(SITUATIONS)
    assert len(ROWS) >= 15


@pytest.mark.parametrize("name", SITUATIONS)
def test_both_commands_say_what_is_wrong(scene, tmp_path, name):
    own = {"KURZ_DATA_DIR": str(scene.folder), "KURZ_PORT": "0"} | SITUATIONS[name](scene)
    run = Runs(scene, name, own)
    check_doctor(run("doctor"), ROWS[name], scene)
    if ROWS[name].serve.isdigit():
        check_refusal(run("serve"), int(ROWS[name].serve), ROWS[name], scene)
    else:
        check_start(own, tmp_path / "log", ROWS[name], scene)


class Runs:
    """Commands on a broken installation."""

    def __init__(self, scene: Scene, name: str, own: dict[str, str]) -> None:
        self._scene = scene
        self._is_full = "full" in name
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
        self._environment = inherited | own
        self._file_limit = FILE_LIMIT if "open files" in name else None

    def __call__(self, command: str) -> subprocess.CompletedProcess[bytes]:
        if self._is_full:
            whole = on_full_disk([str(KURZ), command], self._scene)
            return subprocess.run(whole, env=self._environment, capture_output=True, check=False)
        return nursery.run(
            [command], self._environment, file_limit=self._file_limit, is_ordinary=True
        )


def check_doctor(done: subprocess.CompletedProcess[bytes], row: Row, scene: Scene) -> None:
    printed = scene.shown(done.stdout.decode())
    assert b"hidden" not in done.stdout + done.stderr
    if row.doctor.isdigit():
        check_refusal(done, int(row.doctor), row, scene)
        return
    head = row.doctor.strip("`")
    assert done.returncode == ("✗" in head), printed + done.stderr.decode()
    assert re.search(rf"^{head} +{re.escape(row.sentence)}$", printed, re.MULTILINE), printed


def check_refusal(
    done: subprocess.CompletedProcess[bytes], code: int, row: Row, scene: Scene
) -> None:
    said = scene.shown(done.stderr.decode())
    assert done.returncode == code, said
    assert f"kurz: {row.sentence}\n" == said
    assert b"hidden" not in done.stderr


def check_start(own: dict[str, str], log: Path, row: Row, scene: Scene) -> None:
    is_limited = "open files" in row.sentence
    program = Program(own, log, file_limit=FILE_LIMIT if is_limited else None)
    try:
        program.start()
    finally:
        program.stop()
    said = scene.shown(program.log())
    assert "Traceback" not in said
    assert (f"Warning: {row.sentence}" in said) == (row.serve == "warns")
