"""The OpenAPI document reads well: names are names, and nothing is written out many times. Refusals
of values are of use to programs."""

import ast
from inspect import iscoroutinefunction
from pathlib import Path

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

import kurz
from kurz.api.app import create_api
from support.api_operations import DOCUMENT


def test_no_schema_is_named_after_a_module():
    """Two models of the same name get the paths of their modules as names."""
    assert [name for name in DOCUMENT["components"]["schemas"] if "__" in name] == []


def test_every_problem_is_one_of_the_shared_responses():
    shared = {f"#/components/responses/{name}" for name in DOCUMENT["components"]["responses"]}
    answers = [
        answer
        for operations in DOCUMENT["paths"].values()
        for operation in operations.values()
        for status, answer in operation["responses"].items()
        if status >= "400"
    ]
    assert len(answers) > 500
    assert [answer for answer in answers if answer.keys() != {"$ref"}] == []
    assert {answer["$ref"] for answer in answers} == shared


def test_every_refusal_of_a_value_names_its_field():
    """Of errors that may be about any field. The command line, which names options, is apart."""
    general = {"FieldRefused", "InstantRefused", "NameRefused", "PeriodRefused"}
    sources = Path(kurz.__file__).parent
    found = 0
    silent = []
    for path in sources.rglob("*.py"):
        if path.is_relative_to(sources / "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Raise(exc=ast.Call(func=ast.Name(id=name), keywords=named)):
                    if name in general:
                        found += 1
                        if not any(keyword.arg == "field" for keyword in named):
                            silent.append(f"{path.relative_to(sources)}:{node.lineno}")
    assert found > 40
    assert silent == []


def test_no_part_of_a_request_runs_in_another_thread():
    """FastAPI runs what is not asynchronous in threads, which takes longer than what they do."""
    found = set()

    def look(dependant: Dependant) -> None:
        if dependant.call is not None and not iscoroutinefunction(dependant.call):
            found.add(dependant.call.__qualname__)
        for other in dependant.dependencies:
            look(other)

    routes = [route for route in create_api(None).routes if isinstance(route, APIRoute)]  # type: ignore[arg-type]
    assert len(routes) > 50
    for route in routes:
        look(route.dependant)
    assert not found
