"""`kurz admin reaper`: shows what it did and what is due, and runs it now."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kurz.cli import output
from kurz.cli.reaper_output import (
    Bar,
    Progress,
    print_periodic_tasks,
    print_result,
    print_rules,
    print_state,
    view,
)
from kurz.cli.session import AsJson, DataDir, note, with_kurz
from kurz.errors import StoreUnavailable
from kurz.scheduling import AlreadyRunning, RunCause, RunOutcome

if TYPE_CHECKING:
    from kurz.jobs.runner import Runner
    from kurz.links.ending.reaper_admin import (
        PeriodicTaskState,
        ReaperAdmin,
        ReaperBacklog,
        ReaperState,
    )
    from kurz.scheduling import Result, Run
    from kurz.wiring.core import Kurz
    from kurz.wiring.reaper import Reaping

ALL = 10**9  # an explicit request may wait for an exact number


def reaper(
    run: Annotated[
        bool, typer.Option("--run", help="Run the reaper now and wait until it finishes.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what a run would do now. Writes nothing.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show the reaper's state and rules, or run it."""
    if run and dry_run:
        raise typer.BadParameter("use either --run or --dry-run, not both")
    if run:
        _run(data_dir, as_json)
    elif dry_run:
        _rehearse(data_dir, as_json)
    else:
        _tell(data_dir, as_json)


def _tell(data_dir: Path | None, as_json: bool) -> None:
    async def work(
        kurz: "Kurz",
    ) -> "tuple[ReaperAdmin, ReaperState, Sequence[Run], Sequence[PeriodicTaskState]]":
        from kurz.wiring.reaper import open_reaper_admin

        reaper_admin = open_reaper_admin(kurz)
        runs, tasks = await reaper_admin.last_runs(), await reaper_admin.periodic_tasks()
        return reaper_admin, await reaper_admin.state(), runs, tasks

    reaper_admin, state, runs, tasks = with_kurz(data_dir, work)
    if as_json:
        output.print_json(view(reaper_admin, state, runs, tasks))
        return
    print_state(reaper_admin.schedule, state, runs)
    typer.echo()
    print_rules(reaper_admin.plan, state.waiting)
    typer.echo()
    print_periodic_tasks(tasks, state.now)


def _rehearse(data_dir: Path | None, as_json: bool) -> None:
    async def work(kurz: "Kurz") -> "tuple[ReaperAdmin, ReaperBacklog]":
        from kurz.wiring.reaper import open_reaper_admin

        reaper_admin = open_reaper_admin(kurz)
        with Bar() as bar:
            return reaper_admin, await reaper_admin.waiting(ALL, bar.count)

    reaper_admin, waiting = with_kurz(data_dir, work)
    if as_json:
        rules = reaper_admin.plan.view(waiting)
        output.print_json({"unmarked": waiting.unmarked, "rules": rules})
        return
    print_rules(reaper_admin.plan, waiting)
    output.print_hint("Dry run: nothing was written.")


async def _count(reaper_admin: "ReaperAdmin", bar: Bar) -> "ReaperBacklog | None":
    """None: counting takes too long, and the run need not wait for it."""
    try:
        return await reaper_admin.waiting(ALL, bar.count)
    except StoreUnavailable:
        return None


def _run(data_dir: Path | None, as_json: bool) -> None:
    is_stopped = False

    def stop(runner: "Runner") -> None:
        nonlocal is_stopped
        is_stopped = True
        runner.request_stop()

    async def work(kurz: "Kurz") -> "tuple[Result, Mapping[str, int]]":
        import asyncio
        import signal

        from kurz import logs
        from kurz.wiring.reaper import open_reaper

        await note(kurz, "run-reaper")
        logs.configure("error", kurz.settings.log_format)  # the rest is in the result
        async with open_reaper(kurz) as reaping:
            told = await _run_elsewhere(kurz, reaping.reaper_admin)
            if told is not None:
                return told
            # Otherwise the lease would stay until it expires.
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, stop, reaping.runner)
            return await _run_here(reaping)

    result, counts = with_kurz(data_dir, work)
    print_result(result, counts, as_json=as_json)
    if is_stopped:
        raise KeyboardInterrupt
    if result.outcome is not RunOutcome.DONE:
        raise typer.Exit(1)


async def _run_elsewhere(
    kurz: "Kurz", reaper_admin: "ReaperAdmin"
) -> "tuple[Result, Mapping[str, int]] | None":
    """None: no jobs process is running, and nothing prevents a run here."""
    from kurz.jobs.reaper_run import Asking

    with Bar() as bar:

        def tell(has_begun: bool) -> None:
            text = "the reaper is running" if has_begun else "looking for a running kurz"
            bar.draw(0, 0, text)

        asking = Asking(reaper_admin, tell)
        told = await asking.run() if kurz.engine.has_listeners() else None
        if told is not None:
            result, run = told
            return result, {} if run is None else run.counts
        objection = await asking.objection()
        return None if objection is None else (objection, {})


async def _run_here(reaping: "Reaping") -> "tuple[Result, Mapping[str, int]]":
    counts: Counter[str] = Counter()
    with Bar() as bar:
        waiting = await _count(reaping.reaper_admin, bar)
    with Progress(waiting) as progress:

        def tell(name: str, count: int) -> None:
            counts[name] += count
            progress.add(name, count)

        result = await reaping.runner.run(RunCause.NOW, tell)
    if result is None:
        raise AlreadyRunning(
            "The reaper is already running, here or on another instance. Wait until it finishes."
        )
    return result, counts
