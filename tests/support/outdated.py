"""What is outdated in Redis, because whoever changed it did not reach Redis."""

import time
from contextlib import ExitStack
from http import HTTPStatus

from support.cut_off import MISSING, Said
from support.editor import Author
from support.every_worker import connect_to_each
from support.instances import WORKERS, Installation, Instance
from support.program import Program
from support.wire import Wire

DEADLINE_SECONDS = 60.0


def leave_outdated(
    installation: Installation, instance: Instance, author: Author
) -> dict[str, Said]:
    """Changes links that are in Redis by then, at an instance that reaches it no more. Gives what
    is to be answered, by path."""
    assert installation.valkey is not None
    assert instance.redis is not None
    made = {}
    for code in [next(author.names) for _ in range(12)]:
        body = {"original_url": f"https://example.com/{code}", "custom_code": code}
        made[code] = f"/links/{author.ask('POST', '/links', body)['id']}"
    with Wire(instance.program.port) as wire:
        for code in made:
            assert wire.get(f"/{code}").status == HTTPStatus.FOUND
    deadline = time.monotonic() + DEADLINE_SECONDS
    while installation.valkey.ask("DBSIZE") != f":{len(made)}\r\n":
        assert time.monotonic() < deadline, "Redis was not told"
        time.sleep(0.01)
    instance.redis.cut()
    answers: dict[str, Said] = {}
    for number, (code, path) in enumerate(made.items()):
        if number % 3 == 0:
            author.ask("DELETE", path)
            answers[f"/{code}"] = MISSING
        elif number % 3 == 1:
            author.ask("PATCH", path, {"original_url": "https://example.com/new"})
            answers[f"/{code}"] = 302, "https://example.com/new"
        else:
            answers[f"/{code}"] = 302, f"https://example.com/{code}"
    assert installation.valkey.ask("DBSIZE") == f":{len(made)}\r\n"
    return answers


def check_first_answers(program: Program, answers: dict[str, Said]) -> None:
    """Of every worker, for each path. A busy machine may have none for a while: 503."""
    with ExitStack() as closing:
        wires = connect_to_each(program, WORKERS)
        for wire in wires:
            closing.callback(wire.close)
        deadline = time.monotonic() + DEADLINE_SECONDS
        for path, right in answers.items():
            for wire in wires:
                answer = wire.get(path)
                while answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
                    assert time.monotonic() < deadline, path
                    answer = wire.get(path)
                assert (answer.status, answer.location) == right, path
