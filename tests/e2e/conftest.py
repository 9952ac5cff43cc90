"""The engines of these tests, a terminal on each, and browsers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.browser import Chromium
from support.engines import sqlite_first
from support.migrated import copy_database
from support.program import Program
from support.site import open_site
from support.terminal import Terminal
from support.visitor import PICTURES, Visitor

# A person at the command line does not meet the engine.
engine = sqlite_first


@pytest.fixture
def terminal(environment: dict[str, str], sqlite_template: Path, tmp_path: Path) -> Terminal:
    """A terminal whose database is ready; on PostgreSQL `kurz migrate` makes it."""
    if "KURZ_DATABASE_URL" not in environment:
        copy_database(sqlite_template, tmp_path / "data")
    terminal = Terminal(environment | {"KURZ_DATA_DIR": str(tmp_path / "data")})
    assert terminal.run("migrate").returncode == 0
    return terminal


@pytest.fixture
def visit(
    chromium: Chromium, start_program: Callable[..., Program]
) -> Iterator[Callable[[Program], Visitor]]:
    """Browsers that nobody used before; none of them may complain. They are gone before the
    programs are, which would wait for them."""
    del start_program  # asked for so that it ends later
    made: list[Visitor] = []

    def visit(program: Program) -> Visitor:
        visitor = Visitor(chromium, program.url).__enter__()
        made.append(visitor)
        return visitor

    yield visit
    complaints = [visitor.complaints for visitor in made]
    for visitor in made:
        visitor.__exit__()
    assert complaints == [[] for _ in made]


@pytest.fixture
def visitor(program: Program, visit: Callable[[Program], Visitor]) -> Visitor:
    return visit(program)


@pytest.fixture
def site_port() -> Iterator[int]:
    """Of a site that is there."""
    with open_site() as port:
        yield port


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where pages are kept as they look, if `KURZ_TEST_PICTURES` names a folder."""
    return Path(PICTURES or tmp_path / "pictures")
