"""Rounds of changes at all instances of an installation, which have to answer alike."""

import statistics

from support.editor import Author, Editor
from support.every_worker import BOUND_SECONDS, EveryWorker
from support.instances import WORKERS, Installation, Instance
from support.slack import slack
from support.wake_ups import Silence

USUAL_SECONDS = slack(0.25)  # half of what the look at the log once a second would take
STALE_BOUND_SECONDS = 5.0


def change_with_wake_ups(installation: Installation, author: Author, **rounds: int) -> int:
    """Gives the number of changes."""
    workers = _change(installation, author, BOUND_SECONDS, rounds)
    delays = [delay for delays in workers.delays.values() for delay in delays]
    assert statistics.median(delays) < USUAL_SECONDS
    return len(workers.changes)


def change_without(
    silence: Silence, instance: Instance, installation: Installation, author: Author, **rounds: int
) -> int:
    """The same while one of the instances is not woken."""
    with silence(installation, instance):
        workers = _change(installation, author, STALE_BOUND_SECONDS, rounds)
    return len(workers.changes)


def _change(
    installation: Installation, author: Author, bound_seconds: float, rounds: dict[str, int]
) -> EveryWorker:
    with EveryWorker(installation.programs, WORKERS, bound_seconds=bound_seconds) as workers:
        Editor(author, workers).change_everything(installation.dns, **rounds)
        workers.report()
    assert '"exception"' not in installation.log()
    return workers
