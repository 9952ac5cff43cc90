"""The dashboard's files: small enough, and made from what they say they are."""

import json
import re
import subprocess
from pathlib import Path

import web

from kurz.dashboard.build import Files
from kurz.dashboard.shell import APP, EARLY, HOME
from kurz.people import caps

ROOT = Path(__file__).resolve().parents[2]
STYLE = ROOT / "src" / "kurz" / "redirect" / "answers" / "templates" / "style.css"
MOST_BYTES = 150_000


def weight(*sources: str) -> int:
    """What a browser without brotli loads first."""
    files = Files()
    paths: set[str] = set()
    for source in sources:
        entry = files.entry(source)
        paths |= {entry.script, *entry.imports, *entry.styles}
    found = [files.find(path) for path in sorted(paths)]
    return sum(len(file.best(b"gzip")[1]) for file in found if file is not None)


def test_home_is_light():
    assert 20_000 < weight(EARLY, HOME) <= MOST_BYTES


def test_home_does_not_load_the_rest():
    assert weight(HOME) < weight(APP)
    entry = Files().entry(HOME)
    assert not [path for path in entry.imports if "/app-" in path]


def test_the_types_of_the_api_are_those_of_its_document():
    package = json.loads((web.WEB / "package.json").read_text())
    [_, document, _, target, *options] = package["scripts"]["api"].split()
    web.install()
    made = subprocess.run(
        [web.node(), "node_modules/openapi-typescript/bin/cli.js", document, *options],
        cwd=web.WEB,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (web.WEB / target).read_text() == made.stdout, "`make openapi` writes them"


def test_every_limit_that_is_reached_is_told_in_every_language():
    settings = [it.setting for it in vars(caps).values() if isinstance(it, caps.Cap)]
    assert len(settings) == 5
    sentences = (web.WEB / "src" / "strings" / "problems.ts").read_text()
    for setting in settings:
        assert len(re.findall(rf"\b{setting}:", sentences)) == 2, setting


def test_the_lock_names_no_registry():
    lock = (web.WEB / "package-lock.json").read_text()
    assert '"integrity"' in lock
    assert "resolved" not in lock
    without_funding = re.sub(r'"(?:url|funding)": (?:"[^"]*"|\[[^\]]*\])', "", lock)
    assert "://" not in without_funding


def test_it_has_the_colours_of_the_other_pages():
    theme = (web.WEB / "src" / "ui" / "theme.ts").read_text().lower()
    colours = set(re.findall(r"--[a-z-]+: (#[0-9a-f]{6})", STYLE.read_text().lower()))
    assert len(colours) > 10
    assert sorted(colour for colour in colours if f'"{colour}"' not in theme) == []


def test_every_text_stands_with_the_others():
    """Words of a page are in web/src/strings, in every language."""
    loose = [
        f"{path.relative_to(web.WEB)}: {text.strip()}"
        for path in sorted((web.WEB / "src").rglob("*.tsx"))
        for text in re.findall(r">\s*([A-Za-z][a-z]+ [^<>{}=;]*)</", path.read_text())
    ]
    assert loose == []
