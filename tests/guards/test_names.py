"""Classes are called by the usual words of the field, and one name means one thing."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

import kurz
from kurz import metrics
from kurz.cli.app import app as command_line
from kurz.settings.load import variable
from kurz.settings.model import fields
from support.api_operations import DOCUMENT

ROOT = Path(kurz.__file__).parent.parent.parent
AVOIDED = tomllib.loads((ROOT / "tests" / "data" / "words_to_avoid.toml").read_text())


@cache
def classes() -> list[tuple[Path, str]]:
    """With the files that define them; not read while tests are only collected."""
    return [
        (path.relative_to(ROOT), node.name)
        for path in sorted((ROOT / "src" / "kurz").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]


def test_no_class_has_a_name_to_avoid():
    assert len(classes()) > 300
    found = [
        f"{path}: {name}" for path, name in classes() if name.lstrip("_") in AVOIDED["classes"]
    ]
    assert not found, "\n".join(found)


def test_a_public_class_name_means_one_thing():
    count = Counter(name for _, name in classes() if not name.startswith("_"))
    found = [f"{path}: {name}" for path, name in classes() if count[name] > 1]
    assert not found, "\n".join(found)


def words_of(name: str) -> set[str]:
    """Of `workers_deaf`: workers and deaf; of `DeedRead`: deed and read."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def public_names() -> Iterator[str]:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        yield name
        yield from schema.get("properties", {})
        yield from map(str, schema.get("enum", ()))
    yield from metrics.NAMES
    yield from (variable(item.name) for item in fields())
    yield from commands(typer.main.get_command(command_line))


def commands(command: Any) -> Iterator[str]:
    yield from (option for it in command.params for option in it.opts)
    for name, inner in getattr(command, "commands", {}).items():
        yield name
        yield from commands(inner)


def test_no_public_name_has_a_word_to_avoid():
    names = list(public_names())
    assert {"LinkRead", "short_code", "KURZ_DATA_DIR", "--json", "serve"} <= set(names)
    assert [name for name in names if words_of(name) & set(AVOIDED["names"])] == []


def test_it_knows_the_words_of_names():
    assert words_of("kurz_feed_deaf") == {"kurz", "feed", "deaf"}
    assert words_of("DeedRead") == {"deed", "read"}
    assert words_of("KURZ_LIMIT_STREAMS") == {"kurz", "limit", "streams"}
