"""Two instances on one PostgreSQL make scheduled backups in turns, never both."""

import re
import time
from pathlib import Path

import pytest

from support.link_creators import create_link
from support.terminal import Terminal

pytestmark = pytest.mark.parametrize("engine", ["postgres"], indirect=True)
NAME = re.compile(r"kurz-\d{8}T\d{6}Z-[0-9a-f]{8}\.backup")
BACKUPS, INTERVAL_SECONDS = 3, 60


@pytest.mark.long
@pytest.mark.timeout(900)
def test_one_of_two_instances_makes_each_backup(environment, start_program, tmp_path):
    folder = tmp_path / "shared"
    settings = {
        **environment,
        "KURZ_BACKUP": str(folder),
        "KURZ_BACKUP_INTERVAL": f"{INTERVAL_SECONDS}s",
        "KURZ_METRICS": "public",
    }
    programs = [
        start_program(**settings, KURZ_DATA_DIR=str(tmp_path / f"data-{number}"))
        for number in range(2)
    ]
    with programs[0].client() as client:
        create_link(client, "https://example.com/", may_fail=False)
    started = time.monotonic()
    while len(made(folder)) < BACKUPS:
        time.sleep(1)
    elapsed_seconds = time.monotonic() - started
    programs.pop().stop()
    found = made(folder)
    assert len(found) <= 1 + elapsed_seconds / INTERVAL_SECONDS  # not one of each instance
    assert all(NAME.fullmatch(name) for name in found)
    terminal = Terminal({**settings, "KURZ_DATA_DIR": str(tmp_path / "data-0")})
    shown = terminal.json("backup", "verify", str(folder / found[-1]))
    assert (shown["kind"], shown["links"]) == ("portable", 1)
    assert "the last backup in" in terminal.run("doctor").stdout
    with programs[0].client() as client:
        [size] = re.findall(
            r"^kurz_backup_last_size_bytes (\d+)", client.get("/metrics").text, re.MULTILINE
        )
    assert int(size) > 0
    print(f"{len(found)} backups of two instances in {elapsed_seconds:.0f} s")


def made(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("kurz-*.backup"))
