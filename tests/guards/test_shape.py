"""No function grows past what fits on a screen, no constructor past what a reader can keep in mind,
and no test file past what belongs together."""

import ast
from collections.abc import Iterator
from pathlib import Path

import kurz

SOURCE = Path(kurz.__file__).parent
MIGRATIONS = SOURCE / "storage" / "migrations"  # each is written once, and never again
MAX_LINES = 60
MAX_PARAMETERS = 8
TESTS = SOURCE.parent.parent / "tests"
MAX_TEST_LINES = 400

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if not path.is_relative_to(MIGRATIONS):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, Function):
                    yield f"{path.relative_to(SOURCE)}: {node.name}", node


def own_lines(function: Function) -> int:
    """Without its signature and docstring, and the functions inside it, which count by
    themselves."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if not body:
        return 0
    lines = set(range(body[0].lineno, (body[-1].end_lineno or 0) + 1))
    for node in ast.walk(function):
        if isinstance(node, Function) and node is not function:
            first = min((it.lineno for it in node.decorator_list), default=node.lineno)
            lines -= set(range(first, (node.end_lineno or 0) + 1))
    return len(lines)


def test_functions_are_short():
    found = {name: own_lines(node) for name, node in functions()}
    assert {name: lines for name, lines in found.items() if lines > MAX_LINES} == {}


def test_constructors_take_few_things():
    found = {}
    for name, node in functions():
        if node.name == "__init__":
            arguments = node.args
            found[name] = len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs) - 1
    assert {name: count for name, count in found.items() if count > MAX_PARAMETERS} == {}


def test_files_of_tests_are_short():
    found = {
        str(path.relative_to(TESTS)): len(path.read_text().splitlines())
        for path in TESTS.rglob("*.py")
    }
    assert {name: lines for name, lines in found.items() if lines > MAX_TEST_LINES} == {}
