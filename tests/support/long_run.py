"""What `make test` leaves to `make test-faults`: more of the same."""

from typing import Any

import pytest


def in_the_long_run(*cases: Any) -> list[Any]:
    """Cases of a test that others stand for. One of several values is a tuple."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for case in cases
    ]
