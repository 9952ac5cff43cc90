"""What the start of a server says, and what commands beside it know from that."""

import asyncio
import re
from pathlib import Path

import httpx2
import pytest

from kurz.cli import server_address
from kurz.settings.model import Settings
from kurz.wiring.engine import prepare
from support.people import People
from support.terminal import Terminal


def access_line(output: str) -> str:
    found = re.search(r"^access +(.+)$", output, re.MULTILINE)
    assert found is not None
    return found[1]


def test_commands_print_short_urls_of_the_server_of_the_folder(start_program, tmp_path):
    folder = tmp_path / "data"
    program = start_program(KURZ_DATA_DIR=str(folder))
    terminal = Terminal({"KURZ_DATA_DIR": str(folder)})
    created = terminal.run("create", "https://example.com/a", "--code", "first")
    assert created.stdout == f"{program.url}/first\n"
    assert terminal.json("show", "first")["short_url"] == f"{program.url}/first"
    assert terminal.run("admin", "setup-link").stdout.startswith(f"{program.url}/app/setup#")
    program.stop()  # the next start most likely has the same port
    assert terminal.json("show", "first")["short_url"] == f"{program.url}/first"
    based = terminal.run("show", "first", "--json", KURZ_BASE_URL="https://go.example.com")
    assert '"https://go.example.com/first"' in based.stdout


@pytest.mark.parametrize(
    ("host", "local"),
    [("0.0.0.0", "http://127.0.0.1"), ("::", "http://[::1]")],  # noqa: S104  for a moment
)
def test_a_server_on_every_address_prints_one_that_can_be_opened(
    start_program, tmp_path, host, local
):
    data = {"KURZ_DATA_DIR": str(tmp_path / "data")}
    program = start_program(**data, KURZ_HOST=host)
    first, *rest = program.output.splitlines()
    found = re.fullmatch(
        rf"kurz +{re.escape(local)}:(\d+)  \(listening on (http://.+:\d+)\)", first
    )
    assert found is not None, first
    assert host in found[2]
    pages = f"{local}:{found[1]}/app"
    assert [line for line in rest if "/app" in line and pages not in line] == []
    set_up = Terminal(data).run("admin", "setup-link").stdout
    assert set_up.startswith(f"{pages}/setup#")
    assert httpx2.get(set_up.strip()).status_code == 200


def test_a_link_to_the_server_of_the_folder_is_a_loop(start_program, tmp_path):
    program = start_program(KURZ_DATA_DIR=str(tmp_path / "data"))
    terminal = Terminal({"KURZ_DATA_DIR": str(tmp_path / "data")})
    looped = terminal.run("create", f"{program.url}/x")
    assert looped.returncode == 2
    assert "points back" in looped.stderr


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("http://127.0.0.1:8123\n", "http://127.0.0.1:8123"),
        ("https://go.example.com", "https://go.example.com"),
        ("", None),
        ("nonsense\n", None),
        ("http://a\nhttp://b\n", None),
        ("http://\x1b[31m\n", None),
        ("http://ü.example\n", None),
        ("http://" + "a" * 5000, None),
    ],
)
def test_only_an_address_is_taken_from_the_file(tmp_path, written, read):
    (tmp_path / "address").write_text(written, encoding="utf-8")
    found = server_address.read(tmp_path)
    assert found is None or len(found) <= server_address.MAX_BYTES
    if len(written) < server_address.MAX_BYTES:
        assert found == read


def test_the_file_replaces_a_symbolic_link_and_is_private(tmp_path):
    elsewhere: Path = tmp_path / "elsewhere"
    elsewhere.write_text("kept")
    (tmp_path / "address").symlink_to(elsewhere)
    server_address.write(tmp_path, "http://127.0.0.1:1")
    assert elsewhere.read_text() == "kept"
    assert (tmp_path / "address").stat().st_mode & 0o777 == 0o600
    assert server_address.read(tmp_path) == "http://127.0.0.1:1"
    server_address.write(tmp_path / "missing", "http://127.0.0.1:1")  # says nothing


def test_the_start_says_who_may_make_links(start_program, tmp_path):
    folder = tmp_path / "data"
    asyncio.run(prepare(Settings(data_dir=folder), upgrades_postgres=False))

    async def add(kurz):
        people = People(kurz)
        await people.workspace(await people.add("ada@example.com"), "team")

    environment = {"KURZ_DATA_DIR": str(folder)}
    Terminal(environment).prepare(add)
    said = {
        access: access_line(
            start_program(**environment, KURZ_ROOT_WORKSPACE="team", KURZ_ACCESS=access).output
        )
        for access in ("public", "private")
    }
    assert said == {
        "public": "public: anyone can create an account; only members of team can create links at"
        " the root",
        "private": "private: accounts by invitation only; only members of team can create links at"
        " the root",
    }


def test_archival_without_an_archive_is_warned_of(start_program, tmp_path):
    environment = {"KURZ_DATA_DIR": str(tmp_path / "data"), "KURZ_RETENTION": "archival"}
    start_program(**environment)
    terminal = Terminal(environment)
    assert "Set KURZ_ARCHIVE" in (tmp_path / "log-0").read_text()
    assert "Set KURZ_ARCHIVE" in terminal.run("doctor").stdout
    kept = terminal.run("doctor", KURZ_ARCHIVE=str(tmp_path / "archive"))
    assert "Set KURZ_ARCHIVE" not in kept.stdout
