"""How the reaper looks in a terminal, and as JSON for programs."""

import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import typer

from kurz.cli import output
from kurz.cli.progress import TerminalLine
from kurz.links.ending.reaper_admin import (
    PeriodicTaskState,
    ReaperAdmin,
    ReaperBacklog,
    ReaperState,
    RetentionPlan,
)
from kurz.links.ending.retention import EndedKind, RetentionAction, RetentionRule
from kurz.scheduling import Result, Run, RunOutcome, Schedule
from kurz.settings.values import show_duration

LONGEST_BAR = 40
LABEL = 9  # characters of the widest
MARKED = "marked"

_KINDS = {
    EndedKind.TEMPORARY: "temporary",
    EndedKind.PERMANENT: "permanent",
    EndedKind.SWEPT: "trash, expired",
    EndedKind.DELETED: "trash, deleted",
}
# Names of counts that are not plain words.
_COUNTED = {"one_time_tokens": "one-time links", "strays": "leftovers"}
_COLOURS = {RunOutcome.DONE: "green", RunOutcome.FAILED: "red", RunOutcome.SKIPPED: "yellow"}


class Bar(TerminalLine):
    def count(self, done: int, total: int) -> None:
        """While links are counted, kind by kind."""
        self.draw(done, total, "counting")

    def draw(self, done: int, total: int, text: str) -> None:
        """Without a total there is only the text."""
        if self.is_due():
            self.show(_line(done, total, text))


class Progress(Bar):
    """The progress of a run. A link that is marked and swept in the same run is reported twice, and
    counts when it is swept. None: the total is unknown."""

    def __init__(self, waiting: ReaperBacklog | None) -> None:
        super().__init__()
        self._total = None if waiting is None else waiting.total
        self._go_on = 0 if waiting is None else waiting.go_on
        self._done = 0

    def add(self, name: str, count: int) -> None:
        if name == MARKED:
            twice = min(count, self._go_on)
            self._go_on -= twice
            count -= twice
        self._done += count
        if self._total is None:
            self.draw(0, 0, f"{self._done:,} links")
            return
        total = max(self._total, self._done)
        self.draw(self._done, total, f"{self._done:,} of {total:,} links")


def _line(done: int, total: int, text: str) -> str:
    room = min(shutil.get_terminal_size().columns - len(text) - 3, LONGEST_BAR)
    if room <= 0 or not total:
        return text
    full = room * done // total
    return typer.style("█" * full, fg="cyan") + "░" * (room - full) + f"  {text}"


def print_state(schedule: Schedule, state: ReaperState, runs: Sequence[Run]) -> None:
    totals = state.totals
    average = f", {totals.average_ms:,.0f} ms on average" if totals.successful_runs else ""
    rows = [
        ("now", _present(state)),
        ("next run", _future(schedule, state)),
        ("last run", _past(runs[0], state.now) if runs else "none yet"),
        ("runs", f"{totals.successful_runs:,} successful{average}; {totals.failed_runs:,} failed"),
        ("cleaned", f"{totals.cleaned:,} links"),
    ]
    skipped = [run for run in runs[1:] if run.outcome is RunOutcome.SKIPPED]
    if skipped:
        rows.insert(3, ("last skip", _past(skipped[0], state.now)))
    for label, text in rows:
        typer.echo(typer.style(f"{label:<{LABEL}}", dim=True) + f"  {text}")


def print_rules(plan: RetentionPlan, waiting: ReaperBacklog) -> None:
    """What a run does to how many links; marking comes first."""
    rows = [("not marked yet", "immediately", f"{waiting.unmarked:,}", "mark")]
    for ended, rule in plan.retention.items():
        number = waiting.by_kind.get(ended)
        due = "-" if number is None else f"{number:,}"
        rows.append((_KINDS[ended], _after(rule), due, _action(plan, rule)))
    output.print_table(("links", "after", "due", "action"), rows)
    if any(_lacks_archive(plan, rule) for rule in plan.retention.values()):
        output.print_hint(
            "No archive is configured: links that would be archived stay in the trash."
        )


def print_result(result: Result, counts: Mapping[str, int], *, as_json: bool) -> None:
    if as_json:
        told = {"outcome": result.outcome, "reason": result.reason, "counts": dict(counts)}
        output.print_json(told)
        return
    colour = _COLOURS[result.outcome]
    done = f"  {_counted(counts)}" if _is_telling(result.outcome, counts) else ""
    typer.echo(typer.style(result.outcome, fg=colour) + done)
    if result.reason is not None:
        typer.secho(result.reason, err=True)


def print_periodic_tasks(tasks: Sequence[PeriodicTaskState], now: datetime) -> None:
    """The other jobs, and their results."""
    rows = []
    for task in tasks:
        last = "none yet" if task.last_run is None else _past(task.last_run, now)
        then = "never" if task.next_at is None else output.relative(task.next_at, now)
        rows.append((task.schedule.job, then, last))
    output.print_table(("job", "next run", "last run"), rows)


def view(
    reaper_admin: ReaperAdmin,
    state: ReaperState,
    runs: Sequence[Run],
    tasks: Sequence[PeriodicTaskState],
) -> dict[str, Any]:
    return {
        "is_enabled": reaper_admin.schedule.is_enabled,
        "is_running": state.is_running,
        "next_run_at": state.next_at,
        "total_cleaned": state.totals.cleaned,
        "successful_runs": state.totals.successful_runs,
        "failed_runs": state.totals.failed_runs,
        "average_cleanup_ms": state.totals.average_ms,
        "unmarked": state.waiting.unmarked,
        "rules": reaper_admin.plan.view(state.waiting),
        "runs": [_view_run(run) for run in runs],
        "jobs": [
            {
                "job": task.schedule.job,
                "is_enabled": task.schedule.is_enabled,
                "next_run_at": task.next_at,
                "last_run": None if task.last_run is None else _view_run(task.last_run),
            }
            for task in tasks
        ],
    }


def _view_run(run: Run) -> dict[str, Any]:
    names = "started_at", "ended_at", "is_requested", "holder", "outcome", "counts", "reason"
    return output.fields_of(run, *names)


def _present(state: ReaperState) -> str:
    if state.lease is not None and state.is_running:
        return f"running, started {output.relative(state.lease.taken_at, state.now)}"
    if state.lease is not None and state.lease.requested_at is not None:
        return "run requested, starting soon"
    return "idle"


def _future(schedule: Schedule, state: ReaperState) -> str:
    if state.next_at is None:
        return "none: KURZ_REAPER_ENABLED is off"
    when = output.relative(state.next_at, state.now)
    return when if schedule.window is None else f"{when}  (between {schedule.window} UTC)"


def _past(run: Run, now: datetime) -> str:
    word = (
        "not finished"
        if run.outcome is None
        else typer.style(run.outcome, fg=_COLOURS[run.outcome])
    )
    reason = "" if run.reason is None else f". {run.reason}"
    done = f": {_counted(run.counts)}" if _is_telling(run.outcome, run.counts) else ""
    return f"{output.relative(run.started_at, now)}, {word}{done}{reason}"


def _is_telling(outcome: RunOutcome | None, counts: Mapping[str, int]) -> bool:
    """Only a finished run can say that there was nothing to do."""
    return outcome is RunOutcome.DONE or bool(counts)


def _counted(counts: Mapping[str, int]) -> str:
    shown = (f"{count:,} {_COUNTED.get(name, name)}" for name, count in counts.items())
    return ", ".join(shown) or "nothing to do"


def _after(rule: RetentionRule) -> str:
    return (
        "never"
        if rule.after is None
        else show_duration(rule.after)
        if rule.after
        else "immediately"
    )


def _action(plan: RetentionPlan, rule: RetentionRule) -> str:
    return "keep" if rule.after is None or _lacks_archive(plan, rule) else rule.action


def _lacks_archive(plan: RetentionPlan, rule: RetentionRule) -> bool:
    return rule.action is RetentionAction.ARCHIVE and not plan.has_archive
