"""Programs of which all processes run."""

from collections.abc import Callable

import pytest

from support.program import Program
from support.supervised import wait_until


@pytest.fixture
def start_program(start_program: Callable[..., Program]) -> Callable[..., Program]:
    """As ever, but all processes are there: a new jobs process has the socket for a moment."""

    def start(**environment: str) -> Program:
        program = start_program(**environment)
        wait_until(lambda: len(program.jobs) == 1)
        return program

    return start
