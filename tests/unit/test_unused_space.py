"""When `kurz doctor` says that the database should be compacted."""

import pytest

from kurz.cli.database_findings import _space
from kurz.storage.engine.space import FileSpace

MIB = 1024**2
PAGE = 4096


@pytest.mark.parametrize(
    ("free_mib", "total_mib", "is_much"),
    [(0, 1000, False), (99, 200, False), (100, 500, False), (125, 500, True), (900, 1000, True)],
)
def test_it_is_said_if_more_than_a_quarter_and_100_mib_are_unused(free_mib, total_mib, is_much):
    found = _space(FileSpace(total_mib * MIB, PAGE, free_mib * MIB // PAGE, is_incremental=True))
    assert bool(found) == is_much
    assert all(f"{free_mib} of {total_mib:,} MiB" in it.says for it in found)
