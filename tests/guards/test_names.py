"""Names are the usual words of the field, and one name means one thing. The words to avoid are in
`tests/data/words_to_avoid.toml`, with what to say instead."""

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
from kurz.errors import KurzError
from kurz.settings.load import variable
from kurz.settings.model import fields
from support.api_operations import DOCUMENT

ROOT = Path(kurz.__file__).parent.parent.parent
SOURCE = ROOT / "src" / "kurz"
TABLE = tomllib.loads((ROOT / "tests" / "data" / "words_to_avoid.toml").read_text())
AVOIDED, ALLOWED = TABLE["names"], TABLE["allowed_names"]


def words_of(name: str) -> list[str]:
    """Of `workers_deaf`: workers and deaf; of `DeedRead`: deed and read."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


PHRASES = {f" {key} ": key for key in AVOIDED if key == key.lower() and not key.endswith("()")}


def fault_of(name: str, *, is_function: bool = False, is_class: bool = False) -> str | None:
    """The key of the table that forbids this name."""
    if is_function and f"{name}()" in AVOIDED:
        return f"{name}()"
    if is_class and name.lstrip("_") in AVOIDED and name.lstrip("_")[:1].isupper():
        return name.lstrip("_")
    words = f" {' '.join(words_of(name))} "
    return next((key for phrase, key in PHRASES.items() if phrase in words), None)


def told(where: object, name: str, fault: str | None) -> str:
    return f"{where}: {name}: not “{fault}”, but: {AVOIDED[fault or '']}"


# What programs use.


def properties_of(schema: object) -> Iterator[str]:
    """At any depth, with the values of enumerations."""
    if isinstance(schema, list):
        for item in schema:
            yield from properties_of(item)
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield from schema["properties"]
        if isinstance(schema.get("enum"), list):
            yield from map(str, schema["enum"])
        for item in schema.values():
            yield from properties_of(item)


def names_of_the_api() -> Iterator[str]:
    yield from DOCUMENT["components"]["schemas"]
    yield from properties_of(DOCUMENT)
    for path, item in DOCUMENT["paths"].items():
        yield path
        for operation in item.values():
            yield operation["operationId"]
            yield from (it["name"] for it in operation.get("parameters", ()) if "name" in it)
    yield from (it["name"] for it in DOCUMENT["components"].get("parameters", {}).values())


def names_of_commands(command: Any) -> Iterator[str]:
    yield from (option for it in command.params for option in it.opts)
    for name, inner in getattr(command, "commands", {}).items():
        yield name
        yield from names_of_commands(inner)


def codes_of_problems(kind: type[KurzError] = KurzError) -> Iterator[str]:
    for inner in kind.__subclasses__():
        yield from filter(None, [getattr(inner, "code", None)])
        yield from codes_of_problems(inner)


def keys_of_json() -> Iterator[str]:
    """What commands print with `--json`: the keys of dictionaries in their modules."""
    for path in sorted((SOURCE / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Dict):
                yield from (
                    key.value
                    for key in node.keys
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)
                )


def test_no_public_name_has_a_word_to_avoid():
    names = {
        "API": {*names_of_the_api()},
        "metric": {*metrics.NAMES},
        "setting": {variable(item.name) for item in fields()},
        "command": {*names_of_commands(typer.main.get_command(command_line))},
        "problem": {*codes_of_problems()},
        "JSON": {*keys_of_json()},
    }
    assert {"LinkRead", "short_code", "create_link", "cursor"} <= names["API"]
    assert {"--json", "serve"} <= names["command"]
    assert {"KURZ_DATA_DIR"} <= names["setting"]
    assert {"url-refused"} <= names["problem"]
    assert {"rules"} <= names["JSON"]
    found = [
        told(kind, name, fault)
        for kind, some in names.items()
        for name in sorted(some)
        if (fault := fault_of(name, is_class=kind == "API"))
    ]
    assert not found, "\n".join(found)


# What the source defines.


@cache
def definitions() -> list[tuple[Path, str, str]]:
    """Files, kinds and names; not read while tests are only collected."""
    released = SOURCE / "storage" / "migrations" / "versions"
    return [
        (path.relative_to(ROOT), kind, name)
        for path in sorted(SOURCE.rglob("*.py"))
        if released not in path.parents
        for kind, name in [("module", path.stem), *defined_in(ast.parse(path.read_text()))]
    ]


def defined_in(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Classes, functions, methods, attributes and what modules and classes assign."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield "class", node.name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "function", node.name
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield "attribute", node.attr
        if isinstance(node, ast.Module | ast.ClassDef):
            for inner in node.body:
                targets = inner.targets if isinstance(inner, ast.Assign) else []
                targets += [inner.target] if isinstance(inner, ast.AnnAssign) else []
                for target in targets:
                    yield from (
                        ("attribute", it.id) for it in ast.walk(target) if isinstance(it, ast.Name)
                    )


def test_nothing_in_the_source_has_a_name_to_avoid():
    assert len(definitions()) > 5000
    found = {
        told(path, name, fault)
        for path, kind, name in definitions()
        if name not in ALLOWED
        and (fault := fault_of(name, is_function=kind == "function", is_class=kind == "class"))
    }
    assert not found, "\n".join(sorted(found))


def test_every_exception_is_needed():
    names = {name for _, _, name in definitions()}
    assert {name for name in ALLOWED if name not in names or fault_of(name) is None} == set()


def test_a_public_class_name_means_one_thing():
    classes = [(path, name) for path, kind, name in definitions() if kind == "class"]
    assert len(classes) > 300
    count = Counter(name for _, name in classes if not name.startswith("_"))
    found = [f"{path}: {name}" for path, name in classes if count[name] > 1]
    assert not found, "\n".join(found)


def test_it_knows_the_words_of_names():
    assert words_of("kurz_feed_deaf") == ["kurz", "feed", "deaf"]
    assert words_of("DeedRead") == ["deed", "read"]
    assert words_of("KURZ_LIMIT_STREAMS") == ["kurz", "limit", "streams"]


def test_it_finds_names_to_avoid():
    for name in ("ChoreState", "open_shelf", "is_kept_from", "CHORE_TICK_SECONDS", "_look_ups"):
        assert fault_of(name), name
    for name in ("placeholder", "timekeeper", "kept_until", "actor", "marker", "turn", "make"):
        assert fault_of(name) is None, name
    assert fault_of("make", is_function=True)
    assert fault_of("_Turn", is_class=True)
