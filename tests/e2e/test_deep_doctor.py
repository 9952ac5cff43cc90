"""`kurz doctor --deep`, and backups of a database with a damaged link, at the command line."""

import json
from pathlib import Path

import pytest

from support.checksums import spoil
from support.links import link
from support.program import Program
from support.terminal import Terminal

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
URL = "https://example.com/elsewhere"


async def create(kurz) -> None:
    for code in "good", "bad":
        assert await kurz.store.insert(link(code))


def damage(terminal: Terminal) -> None:
    terminal.prepare(lambda kurz: kurz.database.write(spoil("bad", original_url=URL)))


@on_sqlite
def test_damage_is_found_while_the_server_runs(start_program, environment, data_dir) -> None:
    program: Program = start_program()
    terminal = Terminal(environment | {"KURZ_DATA_DIR": str(data_dir)})
    with program.client() as client:
        code = client.post("/api/v1/links", json={"original_url": "https://example.com/"}).json()
        assert client.get(f"/{code['short_code']}").status_code == 302
        terminal.prepare(create)
        sound = terminal.run("doctor", "--deep")
        assert sound.returncode == 0, sound.stdout
        assert "3 destinations compared with checksums, none has changed" in sound.stdout
        damage(terminal)
        sick = terminal.run("doctor", "--deep")
        assert sick.returncode == 1
        assert "✗ link" in sick.stdout
        assert f"/bad leads to {URL}, which is not what was stored" in sick.stdout
        assert "/good" not in sick.stdout
        assert client.get("/good").status_code == 302  # it goes on
    assert terminal.run("doctor").returncode == 0  # without --deep nothing is read


def test_programs_get_the_findings_as_json(terminal):
    terminal.prepare(create)
    damage(terminal)
    done = terminal.run("doctor", "--deep", "--json")
    assert done.returncode == 1
    findings = [it for it in json.loads(done.stdout)["findings"] if it["verdict"] == "error"]
    assert [it["about"] for it in findings] == ["link", "links"]


def test_an_edit_of_the_destination_ends_the_alarm(terminal):
    terminal.prepare(create)
    damage(terminal)
    assert terminal.run("doctor", "--deep").returncode == 1
    terminal.do("edit", "bad", "--url", "https://example.com/right")
    assert terminal.run("doctor", "--deep").returncode == 0


@on_sqlite
@pytest.mark.parametrize("kind", [(), ("--portable",)])
def test_a_backup_with_a_damaged_link_is_made_and_says_so(terminal, tmp_path: Path, kind):
    terminal.prepare(create)
    sound, file = tmp_path / "sound.backup", tmp_path / "damaged.backup"
    done = terminal.run("backup", str(sound), *kind)
    assert (done.returncode, done.stderr) == (0, "")
    assert terminal.json("backup", "verify", str(sound))["checked_links"] == 2
    damage(terminal)
    done = terminal.run("backup", str(file), *kind)
    assert done.returncode == 0
    warning = f"Warning: this backup has 1 damaged link.\n  /bad leads to {URL}\n"
    assert done.stderr.startswith(warning)
    verified = terminal.run("backup", "verify", str(file))
    assert verified.returncode == 1
    assert "intact" in verified.stdout
    assert verified.stderr.startswith(warning)
    done = terminal.run("backup", "verify", str(file), "--json")
    assert done.returncode == 1
    view = json.loads(done.stdout)
    assert (view["checked_links"], view["damaged_links"]) == (2, 1)
    folder = str(tmp_path / "restored")
    restored = terminal.json("backup", "restore", str(file), "--data-dir", folder)
    assert restored["damaged_links"] == 1
    assert terminal.run("doctor", "--deep", "--data-dir", folder).returncode == 1


@on_sqlite
def test_a_backup_is_verified_on_a_machine_without_kurz(terminal, tmp_path: Path):
    terminal.prepare(create)
    file = tmp_path / "kurz.backup"
    terminal.do("backup", str(file))
    elsewhere = str(tmp_path / "nothing" / "here")
    view = terminal.json("backup", "verify", str(file), "--data-dir", elsewhere)
    assert (view["checked_links"], view["damaged_links"]) == (2, 0)
    assert not (tmp_path / "nothing").exists()
