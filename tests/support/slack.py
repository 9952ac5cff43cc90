"""How much later than promised something may end in a test, because the machine is busy.

The usual run shares its machine and asks little more than that things end. `make test-faults` runs
tests one by one, those marked `deadlines` too, and takes promises at their word.
"""

import os

from kurz.storage.engine.deadlines import USUAL, Deadlines

IS_STRICT = os.environ.get("KURZ_TEST_DEADLINES") == "strict"


def slack(seconds: float) -> float:
    """`seconds` are what a quiet machine needs."""
    return seconds if IS_STRICT else 10 * seconds


# What a busy machine can keep.
DEADLINES = USUAL if IS_STRICT else Deadlines(lookup_seconds=1.0, write_seconds=3.0)
