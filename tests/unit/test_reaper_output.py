"""What `kurz admin reaper --run` says of a run that is over."""

import pytest

from kurz.cli.reaper_output import print_result
from kurz.scheduling import Result, RunOutcome


@pytest.mark.parametrize(
    ("result", "counts", "shown"),
    [
        (Result(), {}, "done  nothing to do\n"),
        (Result(), {"marked": 1, "purged": 2000}, "done  1 marked, 2,000 purged\n"),
        (Result(RunOutcome.FAILED, "The archive is full."), {}, "failed\n"),
        (Result(RunOutcome.FAILED, "The archive is full."), {"purged": 3}, "failed  3 purged\n"),
        (Result(RunOutcome.SKIPPED, "The clock has jumped."), {}, "skipped\n"),
    ],
)
def test_only_who_is_done_says_that_there_was_nothing_to_do(capsys, result, counts, shown):
    print_result(result, counts, as_json=False)
    told = capsys.readouterr()
    assert told.out == shown
    assert told.err == ("" if result.reason is None else f"{result.reason}\n")
