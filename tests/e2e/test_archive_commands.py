"""`kurz archive`, by subprocess."""

import asyncio
import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest

from kurz.settings.model import Settings
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from support.archive import archiver_of, make_swept, run_until_done
from support.clock import FrozenClock
from support.terminal import Terminal

LONG_AGO = datetime(2020, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def terminal(environment, tmp_path, archive) -> Terminal:
    data = {"KURZ_DATA_DIR": str(tmp_path / "data"), "KURZ_ARCHIVE": str(archive)}
    return Terminal({**environment, **data})


@pytest.fixture
def file(addresses, tmp_path, archive) -> str:
    """The name of a file with the links `one` and `two`, which have ended long ago."""
    settings = Settings(
        data_dir=tmp_path / "data",
        database_url=addresses.get("database_url"),
        archive=str(archive),
    )

    async def fill() -> None:
        await prepare(settings, upgrades_postgres=False)
        async with open_kurz(settings, FrozenClock(LONG_AGO)) as kurz:
            for code in "one", "two":
                await make_swept(kurz, 1, custom_code=code, owner_id=None)
            assert await run_until_done(kurz, await archiver_of(kurz)) == 2

    asyncio.run(fill())
    [path] = archive.iterdir()
    return str(path.name)


def json_line(found: object) -> bytes:
    return json.dumps(found).encode()


def test_links_are_found_and_put_back(terminal, file):
    listed = terminal.run("archive", "list")
    assert listed.returncode == 0, listed.stderr
    head, line = listed.stdout.splitlines()
    assert head.split() == ["links", "bytes", "created", "file"]
    assert (line.split()[0], line.split()[-1]) == ("2", file)
    shown = terminal.run("archive", "show", file).stdout.splitlines()
    assert [line.split()[0] for line in shown] == ["link", "/one", "/two"]
    assert "https://example.com/" in shown[1]
    done = terminal.run("archive", "restore", file, "--code", "two", "--expires", "2999-01-01")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "/two  restored\n"
    assert done.stderr == "1 of 1 restored\n"
    again = terminal.run("archive", "restore", file)
    assert again.returncode == 1
    assert again.stdout.splitlines() == [
        "/one  restored",
        "/two  not restored: it already exists",
    ]
    links = terminal.json("list")["links"]
    ends = {item["short_code"]: item["expires_at"] for item in links}
    assert ends.keys() == {"one", "two"}
    assert ends["one"] is None
    assert ends["two"].startswith(("2999", "2998"))


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_what_came_back_before_an_outage_is_told(terminal, file, addresses):
    async def break_second() -> None:
        connection = await asyncpg.connect(addresses["database_url"])
        await connection.execute(
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION USING ERRCODE = '57P01'; END $$;"
            "CREATE TRIGGER fail BEFORE INSERT ON links FOR EACH ROW"
            " WHEN (new.short_code = 'two') EXECUTE FUNCTION fail()"
        )
        await connection.close()

    asyncio.run(break_second())
    done = terminal.run("archive", "restore", file)
    assert done.returncode not in (0, 1)
    assert done.stdout == "/one  restored\n"
    assert "cannot be reached" in done.stderr


def test_programs_read_json(terminal, file, archive):
    found = terminal.json("archive", "list", "--code", "one")
    [item] = found["files"]
    assert (item["name"], item["links"]) == (file, 2)
    assert item["bytes"] == (archive / file).stat().st_size
    assert terminal.json("archive", "list", "--code", "x") == {"files": []}
    shown = terminal.json("archive", "show", file)["links"]
    assert [link["short_code"] for link in shown] == ["one", "two"]
    terminal.run("archive", "restore", file, "--code", "one")
    again = terminal.run("archive", "restore", file, "--json")
    assert again.returncode == 1
    results = json.loads(again.stdout)["links"]
    assert [(it["outcome"], it["reason"]) for it in results] == [
        ("conflict", "exists"),
        ("restored", None),
    ]


def test_a_file_of_somebody_else_needs_a_word_and_passes_the_same_judges(terminal, file, archive):
    lines = gzip.decompress((archive / file).read_bytes()).splitlines()
    one, two = (json.loads(line) for line in lines)
    one["short_code"] = "api"
    (archive / file).write_bytes(gzip.compress(b"\n".join(map(json_line, (one, two)))))
    for command in "show", "restore":
        done = terminal.run("archive", command, file)
        assert done.returncode == 2
        [line] = done.stderr.splitlines()
        assert "not signed by this installation" in line
        assert "--foreign" in line
    searched = terminal.run("archive", "list", "--code", "two")
    assert "0 files" in searched.stderr
    assert "skipped: " in searched.stderr
    assert terminal.json("archive", "list", "--code", "two", "--foreign")["files"]
    done = terminal.run("archive", "restore", file, "--foreign")
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first.startswith("/api  not restored: not a valid link: “api” is a reserved word.")
    assert second == "/two  restored"


def test_a_line_that_is_too_large_is_named_and_the_rest_comes_back(terminal, file, archive):
    path = archive / file
    one, two = (json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines())
    day = {"day": "2020-05-01", "clicks": 0, "people": 0, "visitors": 0, "counts": {}, "sketch": ""}
    one["archive"]["days"] = [day] * 40_000
    path.write_bytes(gzip.compress(b"\n".join(map(json_line, (one, two)))))
    sentence = f"{file}: Line 1 has more than 36,525 days."
    searched = terminal.run("archive", "list", "--code", "one", "--foreign")
    assert searched.stderr.splitlines()[0] == f"skipped: {sentence}"
    assert terminal.json("archive", "list", "--code", "two", "--foreign")["files"]
    shown = terminal.run("archive", "show", file, "--foreign")
    assert f"skipped: {sentence}" in shown.stderr
    assert "/two" in shown.stdout
    missing = terminal.run("archive", "restore", file, "--foreign", "--code", "one")
    assert missing.returncode == 3
    assert missing.stderr.splitlines()[0] == f"not restored: {sentence}"
    done = terminal.run("archive", "restore", file, "--foreign")
    assert done.returncode == 1
    assert done.stdout == "/two  restored\n"
    assert done.stderr.splitlines() == [f"not restored: {sentence}", "1 of 1 restored"]


def test_a_file_is_imported_as_an_export_is(terminal, file, archive):
    done = terminal.run("import", str(archive / file))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2 created · 0 existed · 0 conflicts · 0 refused\n"


def test_what_goes_wrong_is_one_line(terminal, file, archive):
    def fails(code: int, sentence: str, *arguments: str) -> None:
        done = terminal.run("archive", *arguments)
        assert done.returncode == code
        [line] = done.stderr.splitlines()
        assert sentence in line

    fails(3, "There is no file “nothing” in the archive.", "show", "nothing")
    fails(3, "has no link “three”", "restore", file, "--code", "three")
    fails(2, "is in the past", "restore", file, "--expires", "2020-01-01")
    (archive / file).write_bytes((archive / file).read_bytes()[:-8])
    fails(2, "add --foreign", "show", file)
    fails(2, "ends too early", "show", file, "--foreign")
    del terminal.environment["KURZ_ARCHIVE"]
    fails(78, "Set KURZ_ARCHIVE", "list")
