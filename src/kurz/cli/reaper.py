"""`kurz admin reaper`: what it did and has to do, and to run it now."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kurz.cli import output
from kurz.cli.reaper_output import (
    Bar,
    Progress,
    print_chores,
    print_result,
    print_rules,
    print_state,
    view,
    view_rules,
)
from kurz.cli.session import AsJson, DataDir, note, with_kurz
from kurz.errors import StoreUnavailable
from kurz.scheduling import AlreadyRunning, Cause, Outcome

if TYPE_CHECKING:
    from kurz.bootstrap import Kurz
    from kurz.jobs.runner import Runner
    from kurz.links.upkeep import ChoreState, ReaperState, Upkeep, Waiting
    from kurz.reaping import Reaping
    from kurz.scheduling import Result, Run

ALL = 10**9  # who asks on purpose waits for an exact number


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
    ) -> "tuple[Upkeep, ReaperState, Sequence[Run], Sequence[ChoreState]]":
        from kurz.reaping import open_upkeep

        upkeep = open_upkeep(kurz)
        runs, chores = await upkeep.last_runs(), await upkeep.chores()
        return upkeep, await upkeep.state(), runs, chores

    upkeep, state, runs, chores = with_kurz(data_dir, work)
    if as_json:
        output.print_json(view(upkeep, state, runs, chores))
        return
    print_state(upkeep.schedule, state, runs)
    typer.echo()
    print_rules(upkeep.plan, state.waiting)
    typer.echo()
    print_chores(chores, state.now)


def _rehearse(data_dir: Path | None, as_json: bool) -> None:
    async def work(kurz: "Kurz") -> "tuple[Upkeep, Waiting]":
        from kurz.reaping import open_upkeep

        upkeep = open_upkeep(kurz)
        with Bar() as bar:
            return upkeep, await upkeep.waiting(ALL, bar.count)

    upkeep, waiting = with_kurz(data_dir, work)
    if as_json:
        rules = view_rules(upkeep.plan, waiting)
        output.print_json({"unmarked": waiting.unmarked, "rules": rules})
        return
    print_rules(upkeep.plan, waiting)
    output.print_hint("Dry run: nothing was written.")


async def _count(upkeep: "Upkeep", bar: Bar) -> "Waiting | None":
    """None: it takes too long, and the run need not wait for it."""
    try:
        return await upkeep.waiting(ALL, bar.count)
    except StoreUnavailable:
        return None


def _run(data_dir: Path | None, as_json: bool) -> None:
    is_stopped = False

    def stop(runner: "Runner") -> None:
        nonlocal is_stopped
        is_stopped = True
        runner.leave_off()

    async def work(kurz: "Kurz") -> "tuple[Result, Mapping[str, int]]":
        import asyncio
        import signal

        from kurz import logs
        from kurz.reaping import open_reaper

        await note(kurz, "run-reaper")
        logs.configure("error", kurz.settings.log_format)  # the rest is in the result
        async with open_reaper(kurz) as reaping:
            told = await _run_elsewhere(kurz, reaping.upkeep)
            if told is not None:
                return told
            # Else the lease would be kept until it ends by itself.
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, stop, reaping.runner)
            return await _run_here(reaping)

    result, counts = with_kurz(data_dir, work)
    print_result(result, counts, as_json=as_json)
    if is_stopped:
        raise KeyboardInterrupt
    if result.outcome is not Outcome.DONE:
        raise typer.Exit(1)


async def _run_elsewhere(
    kurz: "Kurz", upkeep: "Upkeep"
) -> "tuple[Result, Mapping[str, int]] | None":
    """None: no jobs process is there, and nothing is said against a run here."""
    from kurz.feed.local import is_anybody_listening
    from kurz.jobs.asking import Asking

    with Bar() as bar:

        def tell(has_begun: bool) -> None:
            text = "the reaper is running" if has_begun else "looking for a running kurz"
            bar.draw(0, 0, text)

        asking = Asking(upkeep, tell)
        settings = kurz.settings
        is_there = not settings.is_embedded or is_anybody_listening(settings.feed_dir)
        told = await asking.run() if is_there else None
        if told is not None:
            result, run = told
            return result, {} if run is None else run.counts
        objection = await asking.objection()
        return None if objection is None else (objection, {})


async def _run_here(reaping: "Reaping") -> "tuple[Result, Mapping[str, int]]":
    counts: Counter[str] = Counter()
    with Bar() as bar:
        waiting = await _count(reaping.upkeep, bar)
    with Progress(waiting) as progress:

        def tell(name: str, count: int) -> None:
            counts[name] += count
            progress.add(name, count)

        result = await reaping.runner.run(Cause.NOW, tell)
    if result is None:
        raise AlreadyRunning(
            "The reaper is already running, here or on another instance. Wait until it finishes."
        )
    return result, counts
