"""`kurz export`, `kurz import` and `kurz qr`, by subprocess."""

import json
import os
import pty
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import nursery
from support.long_run import in_the_long_run

KURZ = Path(sys.executable).with_name("kurz")
ROWS = "url,code,tags\nhttps://example.com/a,first,x|y\nhttps://example.com/b,second,\n"


class FolderTerminal:
    """Runs `kurz` in a folder, which files are read from and written to; its outputs are bytes."""

    def __init__(self, folder: Path, **environment: str) -> None:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
        self.folder = folder
        self.environment = {**inherited, "KURZ_DATA_DIR": str(folder / "data"), **environment}

    def run(
        self, *arguments: str, given: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return nursery.run(arguments, self.environment, given=given or b"", folder=self.folder)

    def file(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return name


@pytest.fixture
def terminal(environment, tmp_path):
    """In a place where nothing has been made yet."""
    return FolderTerminal(tmp_path, **environment)


@pytest.fixture
def local(tmp_path):
    return FolderTerminal(tmp_path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """One with links and files, for commands that fail."""
    terminal = FolderTerminal(tmp_path_factory.mktemp("filled"))
    assert terminal.run("import", terminal.file("in.csv", ROWS)).returncode == 0
    terminal.file("odd.csv", "url,price\nx,7\n")
    return terminal


def test_links_move_from_one_kurz_to_another(terminal, tmp_path):
    done = terminal.run("import", terminal.file("in.csv", ROWS))
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == "2 created · 0 existed · 0 conflicts · 0 refused\n"
    exported = terminal.run("export", "out.jsonl")
    assert exported.returncode == 0, exported.stderr
    assert exported.stderr.decode() == "2 links in out.jsonl\n"
    (tmp_path / "elsewhere").mkdir()
    other = FolderTerminal(tmp_path / "elsewhere")
    assert other.run("import", "../out.jsonl").returncode == 0
    assert other.run("export").stdout == terminal.run("export", "-").stdout


def test_an_import_may_be_run_again(local):
    name = local.file("in.csv", ROWS)
    local.run("import", name)
    done = local.run("import", name)
    assert done.returncode == 0
    assert done.stdout.decode() == "0 created · 2 existed · 0 conflicts · 0 refused\n"


def test_refused_rows_are_listed_and_end_with_1(local):
    local.run("import", local.file("in.csv", ROWS))
    rows = "url,code\nhttps://example.com/z,first\nnope,third\nhttps://example.com/d,fourth\n"
    done = local.run("import", local.file("more.csv", rows))
    assert done.returncode == 1
    text = done.stdout.decode().splitlines()
    assert [line.split()[:4] for line in text[:2]] == [
        ["line", "2", "conflict", "first"],
        ["line", "3", "refused", "third"],
    ]
    assert text[2] == "1 created · 0 existed · 1 conflicts · 1 refused"


def test_at_most_twenty_are_listed(local):
    done = local.run("import", local.file("in.csv", "url\n" + "nope\n" * 50))
    text = done.stdout.decode().splitlines()
    assert len([line for line in text if line.startswith("line")]) == 20
    assert text[-2].startswith("and 30 more")


def test_the_result_of_every_row_is_there_for_programs(local):
    name = local.file("in.csv", ROWS + "nope,x,\n")
    done = local.run("import", name, "--report", "report.jsonl", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    text = (local.folder / "report.jsonl").read_text()
    report = [json.loads(line) for line in text.splitlines()]
    assert told["rows"] == report
    assert [row["outcome"] for row in report] == ["created", "created", "refused"]
    assert told["summary"] == {
        "rows": 3,
        "created": 2,
        "existed": 0,
        "conflict": 0,
        "refused": 1,
    }
    assert stat.S_IMODE((local.folder / "report.jsonl").stat().st_mode) == 0o600


def test_no_rows_are_valid_json_too(local):
    done = local.run("import", local.file("in.csv", "url\n"), "--json")
    assert json.loads(done.stdout)["rows"] == []


def test_a_dry_run_writes_no_link(local):
    done = local.run("import", local.file("in.csv", ROWS), "--dry-run")
    assert done.returncode == 0
    assert b"2 created" in done.stdout
    assert b"nothing was written" in done.stdout
    assert local.run("export", "--format", "jsonl").stdout == b""


def test_input_and_output_may_be_pipes(local):
    done = local.run("import", "-", "--format", "csv", given=ROWS.encode())
    assert done.returncode == 0, done.stderr
    lines = local.run("export", "-", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["short_code"] for line in lines] == ["first", "second"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("import", "odd.csv"), 2, "“price”"),
        (("export", "missing/links.csv"), 74, "cannot be written"),
        (("qr", "missing"), 3, "no link"),
        *in_the_long_run(
            (("import", "-"), 2, "--format"),
            (("import", "links.txt"), 2, "--format"),
            (("export", "links.txt"), 2, "--format"),
            (("import", "missing.csv"), 2, "missing.csv cannot be read"),
            (("import", "in.csv", "--workspace", "nobody"), 3, "no workspace"),
            (("export", "--workspace", "7"), 3, "no workspace"),
            (("qr", "first", "-o", "x.gif"), 2, "--format"),
            (("qr", "first", "-o", "x.png", "--size", "9"), 2, "size"),
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_a_code(filled, arguments, code, words):
    done = filled.run(*arguments)
    assert done.returncode == code, done.stderr
    text = done.stderr.decode()
    assert words in text
    assert len(text.splitlines()) == 1


def parts_in(local) -> list[Path]:
    """Files that are not finished."""
    return [path for path in local.folder.iterdir() if path.name.endswith(".part")]


def test_an_export_is_its_owners_alone_and_leaves_no_part(local):
    local.run("import", local.file("in.csv", ROWS))
    local.file("out.csv", "old")
    assert local.run("export", "out.csv").returncode == 0
    assert stat.S_IMODE((local.folder / "out.csv").stat().st_mode) == 0o600
    assert (local.folder / "out.csv").read_text().startswith("short_code,original_url,")
    assert parts_in(local) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "--format", "csv", "link"),
        ("import", "in.csv", "--report", "link"),
        ("qr", "first", "--output", "link", "--format", "svg"),
        ("stats", "--csv", "link"),
    ],
)
def test_nothing_is_written_through_a_symbolic_link(local, arguments):
    local.run("import", local.file("in.csv", ROWS))
    (local.folder / "link").symlink_to(local.file("other.csv", "mine"))
    done = local.run(*arguments)
    assert done.returncode == 2, done.stderr
    [line] = done.stderr.decode().splitlines()
    assert "symbolic link" in line
    assert (local.folder / "other.csv").read_text() == "mine"


def test_a_report_does_not_replace_the_file_that_is_imported(local):
    name = local.file("in.csv", ROWS)
    done = local.run("import", name, "--report", f"./{name}", "--dry-run")
    assert done.returncode == 2, done.stderr
    assert "--report would overwrite" in done.stderr.decode()
    assert (local.folder / "in.csv").read_text() == ROWS


def test_a_report_of_what_comes_from_the_input_replaces_the_last_one(local):
    for outcome in "created", "existed":
        options = ("--format", "csv", "--report", "report.jsonl")
        done = local.run("import", "-", *options, given=ROWS.encode())
        assert done.returncode == 0, done.stderr
        first = (local.folder / "report.jsonl").read_text().splitlines()[0]
        assert json.loads(first)["outcome"] == outcome


def test_a_report_leaves_the_file_alone_that_is_imported(local):
    """Whatever it is called: also as an unfinished report was called before."""
    name = local.file("links.csv.part", ROWS)
    local.run("import", name, "--format", "csv", "--report", "links.csv")
    assert (local.folder / name).read_text() == ROWS
    assert (local.folder / "links.csv").read_text().count("\n") == 2


def test_an_export_that_fails_leaves_the_old_file(local):
    local.run("import", local.file("in.csv", ROWS))
    local.file("out.csv", "old")
    database = local.folder / "data" / "kurz.db"
    database.write_bytes(b"no database" * 1000)
    assert local.run("export", "out.csv").returncode != 0
    assert (local.folder / "out.csv").read_text() == "old"
    assert parts_in(local) == []


def test_a_killed_import_is_finished_by_another(local):
    total = 30_000
    rows = "url\n" + "".join(f"https://example.com/{n}\n" for n in range(total))
    name = local.file("many.csv", rows)
    process = subprocess.Popen(
        [KURZ, "import", name, "--report", "report.jsonl"],
        env=local.environment,
        cwd=local.folder,
        stdout=subprocess.DEVNULL,
    )
    ends_at = time.monotonic() + 60
    while time.monotonic() < ends_at and not any(it.stat().st_size for it in parts_in(local)):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = local.run("import", name, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["summary"]
    assert summary["existed"] > 0
    assert summary["created"] + summary["existed"] == total
    assert local.run("export", "--format", "jsonl").stdout.count(b"\n") == total


def test_progress_is_shown_on_a_terminal(local):
    rows = "url\n" + "".join(f"https://example.com/{n}\n" for n in range(8000))
    leader, follower = pty.openpty()
    done = subprocess.Popen(
        [KURZ, "import", local.file("many.csv", rows)],
        env=local.environment,
        cwd=local.folder,
        stdout=subprocess.DEVNULL,
        stderr=follower,
    )
    assert done.wait(60) == 0
    os.close(follower)
    text = os.read(leader, 100_000).decode()
    os.close(leader)
    assert " rows " in text
    assert " per second" in text


def test_a_link_has_a_qr_code(local):
    local.run("import", local.file("in.csv", ROWS))
    printed = local.run("qr", "first")
    assert printed.returncode == 0, printed.stderr
    assert set(printed.stdout.decode()) == set("█▀▄ \n")
    assert printed.stderr.decode() == "http://127.0.0.1:8080/first\n"
    assert local.run("qr", "first", "-o", "first.png", "--size", "300").returncode == 0
    assert (local.folder / "first.png").read_bytes().startswith(b"\x89PNG")
    svg = local.run("qr", "first", "--format", "svg", "--dark", "#123456")
    assert svg.stdout.startswith(b"<svg ")
    assert b"#123456" in svg.stdout
