"""The project's own files keep their promises."""

import ast
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import kurz
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.sqlite import can_use_wal, default_driver

ROOT = Path(kurz.__file__).parent.parent.parent
CLIENTS = {
    "http.client",
    "urllib.request",
    "ftplib",
    "smtplib",
    "imaplib",
    "poplib",
    "xmlrpc.client",
}
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_pins_by_hash_and_names_no_registry(lock):
    text = lock.read_text()
    pinned = re.findall(r"^[a-z0-9._-]+==", text, re.MULTILINE)
    assert len(pinned) > 20 or (lock.name, pinned) == ("setup.lock", ["pip==", "uv=="])
    assert "://" not in text
    blocks = re.split(r"^(?=[a-z0-9._-]+==)", text, flags=re.MULTILINE)[1:]
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_both_locks_have_the_same_versions():
    run, dev = (
        dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", path.read_text(), re.MULTILINE))
        for path in (ROOT / "requirements" / "run.lock", ROOT / "requirements" / "dev.lock")
    )
    assert run.items() <= dev.items()


def test_the_lock_holds_every_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {
        re.split(r"[\[<>=; ]", item)[0].lower() for item in project["project"]["dependencies"]
    }
    lock = ROOT / "requirements" / "run.lock"
    locked = set(re.findall(r"^([a-z0-9._-]+)==", lock.read_text(), re.MULTILINE))
    assert wanted <= locked


def test_the_newest_migration_is_the_one_that_kurz_expects():
    migrations = Migrations()
    names = sorted(path.name for path in (migrations.scripts / "versions").glob("[0-9]*.py"))
    assert names[-1].startswith(migrations.head)


def test_versions_are_above_the_floors_of_known_holes():
    def numbers(package: str) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", version(package))[:3])

    assert numbers("starlette") >= (1, 0, 1)
    assert numbers("uvicorn") >= (0, 54)
    assert can_use_wal(default_driver.sqlite_version_info)


def _imported(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def test_nothing_calls_the_outside_by_the_standard_library():
    """Other clients are import-linter's to forbid, which knows no parts of that one."""
    sources = sorted((ROOT / "src").rglob("*.py"))
    assert len(sources) > 200
    assert {
        path.name: _imported(path) & CLIENTS for path in sources if _imported(path) & CLIENTS
    } == {}


def test_only_one_module_asks_which_engine_runs():
    asks = re.compile(
        r"\bis_(embedded|remote)\b|\bdatabase_url\b|isinstance\([^)]*(Sqlite|Postgres)Database"
    )
    source = ROOT / "src" / "kurz"
    found = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if asks.search(path.read_text())
    }
    assert {name for name in found if not name.startswith("settings/")} == {"wiring/engine.py"}
