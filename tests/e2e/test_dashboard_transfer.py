"""Files become links, and links become files."""

import csv
import io
import json
import time
from pathlib import Path

import pytest

from support import shelf
from support.browser import SECONDS
from support.dashboard import confirm, do, find, sign_up, take
from support.visitor import Visitor

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

FILE = """Slug;Long URL;Title;Notes;Tags;Clicks;Date
launch;https://example.com/spring;Spring launch;;campaign|press;12048;2026-03-01
menu;https://example.com/menu;"The ""menu"" of the week";"Printed;
on every table";print;3204;2025-10-12
jobs;https://example.com/jobs;Open positions;;team;318;2026-02-14
ftp;ftp://files.example.com/list.zip;Price list;;;7;2026-01-20
app;https://example.com/app;Our app;;team;41;2026-02-02
survey;;Customer survey;;research;64;2026-02-20
beta;https://ada@example.com/beta;Beta programme;;team;12;2026-02-21
press;https://example.com/press;Press kit;;press;99;2026-02-22
tickets;https://example.com/tickets;Concert tickets;;event;many;2026-02-22
"""
REFUSED = {"ftp", "app", "survey", "beta", "tickets"}


def saved(folder: Path, name: str) -> str:
    until = time.monotonic() + SECONDS
    while not (folder / name).exists():
        assert time.monotonic() < until, list(folder.iterdir())
        time.sleep(0.05)
    return (folder / name).read_text()


def test_a_file_is_checked_and_imported(visitor, tmp_path, pictures):
    sign_up(visitor)
    visitor.save_into(tmp_path / "saved")
    visitor.visit("/app/links")
    visitor.click("More")
    visitor.click("Import…")
    visitor.wait_for_text("Drop a file here")
    take(visitor, pictures, "import")
    visitor.give("export.csv", FILE.replace("Title", "Colour"))
    visitor.wait_for_text("Unknown columns: “Colour”.")
    assert "Import now" not in visitor.text()
    visitor.click("Choose another file")
    visitor.give("links of last year.csv", FILE)
    visitor.wait_for_text("Check result")
    assert {"9 rows · 1 kB", "To be created", "No destination URL"} <= {
        line.strip() for line in visitor.text().replace("\t", "\n").splitlines()
    }
    take(visitor, pictures, "import-check")
    page = do(visitor, "GET", "/links")
    assert page["total"] == 0
    visitor.click("Import now")
    visitor.wait_for_text("Imported")
    visitor.wait_for_text("Rows with problems")
    counts = visitor.evaluate("document.querySelector('main dl').innerText.replace(/\\s+/g, ' ')")
    assert counts == "Created 4 Already exists 0 Code taken 0 Rejected 5"
    assert "This URL contains a user name" in visitor.text()
    take(visitor, pictures, "import-result")
    visitor.click("Download these rows")
    rest = saved(tmp_path / "saved", "links of last year-rest.csv")
    rows = list(csv.DictReader(io.StringIO(rest), delimiter=";"))
    assert {row["Slug"] for row in rows} == REFUSED
    assert rest.splitlines()[0] == FILE.splitlines()[0]
    visitor.click("Download report")
    report = saved(tmp_path / "saved", "links of last year-report.txt")
    lines = [line.split(": ") for line in report.splitlines()]
    assert [line for line, *_ in lines] == [f"Line {number}" for number in (6, 7, 8, 9, 11)]
    assert lines[2] == ["Line 8", "/survey", "No destination URL"]
    visitor.click("Import another file")
    visitor.give("again.csv", FILE.replace("/jobs;", "/elsewhere;"))
    visitor.click("Import now")
    visitor.wait_for_text("Imported")
    visitor.wait_for_text("Another link uses this code.")
    counts = visitor.evaluate("document.querySelector('main dl').innerText.replace(/\\s+/g, ' ')")
    assert counts == "Created 0 Already exists 3 Code taken 1 Rejected 5"
    assert find(visitor, "menu")["notes"] == "Printed;\non every table"


def test_a_large_file_needs_somebodys_leave(visitor, program, pictures):
    """The page says how many rows there may be, and how many problems it does not show."""
    sign_up(visitor)
    lines = [
        json.dumps({"url": "no address" if n % 6 else f"https://example.com/{n}", "code": f"c{n}"})
        for n in range(2400)
    ]
    visitor.visit("/app/import")
    visitor.wait_for_text("Up to 1,000 rows per file.")
    visitor.give("many.jsonl", "\n".join(lines))
    visitor.wait_for_text("You can import up to 1,000 rows at once. This file has more.")
    assert "Import now" not in visitor.text()
    take(visitor, pictures, "import-too-large")
    program.run("admin", "allow-imports", "ada@example.com")
    visitor.visit("/app/import")
    visitor.wait_for_text("Up to 100,000 rows per file.")
    visitor.give("many.jsonl", "\n".join(lines))
    visitor.click("Import now")
    visitor.wait_for_text("View links")
    visitor.wait_for_text("The first 100 of 2,000")
    visitor.wait_for_text("1,000 more were not imported")
    take(visitor, pictures, "import-many")
    assert "Created\n400" in visitor.text()
    assert int(visitor.evaluate("document.querySelectorAll('tr').length")) == 101
    page = do(visitor, "GET", "/links?search=c2394")
    assert page["total"] == 1


def test_links_leave_as_files_that_come_back_as_they_were(visitor, tmp_path, pictures):
    sign_up(visitor)
    formula = {
        "short_code": "formula",
        "title": "=1+1",
        "notes": 'two "lines"\n;=2',
        "tags": ["a|b"],
    }
    shelf.fill(visitor, [*shelf.rows(), {"original_url": "https://example.com/f", **formula}])
    folder = tmp_path / "saved"
    visitor.save_into(folder)
    visitor.visit("/app/links?search=example.com")
    visitor.tick("Select formula")
    visitor.tick("Select launch")
    visitor.wait_for_text("2 selected")
    visitor.click("Export…")
    visitor.wait_for_text("Selected links (2)")
    take(visitor, pictures, "export")
    confirm(visitor)
    visitor.wait_for_text("Exported 2 links.")
    text = saved(folder, "kurz-links.csv")
    rows = {row["short_code"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}
    assert set(rows) == {"formula", "launch"}
    assert rows["formula"]["title"] == "'=1+1"
    whole = send_whole(visitor, folder)
    assert rows["formula"] == whole["formula"]
    assert rows["launch"] == whole["launch"]
    visitor.click("More")
    visitor.click("Export…")
    visitor.tick("JSON Lines, for programs")
    confirm(visitor)
    lines = [json.loads(line) for line in saved(folder, "kurz-links.jsonl").splitlines()]
    assert {line["short_code"] for line in lines} == set(whole) - {"catalogue"}
    for link in (find(visitor, code) for code in ("formula", "launch")):
        do(visitor, "DELETE", f"/links/{link['id']}")
        do(visitor, "DELETE", f"/trash/{link['id']}")
    visitor.visit("/app/import")
    visitor.give("kurz-links.csv", text)
    visitor.click("Import now")
    visitor.wait_for_text("Imported")
    back = find(visitor, "formula")
    assert {name: back[name] for name in formula} == formula
    assert find(visitor, "launch")["redirect_count"] == 12_048


def send_whole(visitor: Visitor, folder: Path) -> dict[str, dict[str, str]]:
    """The server's own file of all links, by code."""
    (folder / "kurz-links.csv").unlink()
    visitor.visit("/app/links")
    visitor.click("More")
    visitor.click("Export…")
    visitor.wait_for_text("Include links in the trash")
    confirm(visitor)
    text = saved(folder, "kurz-links.csv")
    visitor.visit("/app/links?search=example.com")
    return {row["short_code"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}
