"""`kurz admin lists`: the lists that destinations are screened by, and the results."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import output
from kurz.cli.session import AsJson, DataDir, with_kurz

if TYPE_CHECKING:
    from kurz.safety.screening import ListScreen
    from kurz.wiring.core import Kurz

_SAYS = {
    "admitted": "Links to this URL are allowed.",
    "listed": "Links to this URL are not allowed: it is on a blocklist.",
    "banned": "Links to this URL are not allowed: its host is banned.",
    "unknown": (
        "Links to this URL are allowed, but visitors see a warning because some lists"
        " cannot be read."
    ),
}


def lists(
    url: Annotated[
        str | None, typer.Option("--url", help="Only check whether links to this URL are allowed.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show blocklists and allowlists. Also: which can be read, and when links were screened."""

    async def work(kurz: "Kurz") -> dict[str, Any]:
        if url is not None:
            return _verdict(kurz.screen, url)
        from kurz.safety.rescreening import JOB
        from kurz.storage.jobs.runs import SqlRunStore
        from kurz.storage.safety.screening import count_held

        runs = await SqlRunStore(kurz.database, kurz.clock).last(JOB, 1)
        return {
            **_view(kurz.screen),
            "held_links": await kurz.database.read(count_held),
            "last_run": runs[0].started_at if runs else None,
            "last_counts": dict(runs[0].counts) if runs else {},
            "now": kurz.clock.now(),
        }

    found = with_kurz(data_dir, work)
    if as_json:
        output.print_json({name: value for name, value in found.items() if name != "now"})
    elif url is not None:
        typer.echo(_SAYS[found["verdict"]])
    else:
        _print(found)


def _verdict(screen: "ListScreen", url: str) -> dict[str, Any]:
    from kurz.links import urls

    return {"verdict": str(screen.judge(urls.judge(url).location))}


def _view(screen: "ListScreen") -> dict[str, Any]:
    found = screen.provider.lists
    return {
        "is_sure": screen.is_sure,
        "has_other_shorteners": screen.provider.sources.has_shorteners,
        "hosts": 0 if found is None else found.hosts,
        "bytes": 0 if found is None else found.size,
        "banned_hosts": len(screen.banned_hosts),
        "lists": [] if found is None else [asdict(state) for state in found.sources],
    }


def _print(found: dict[str, Any]) -> None:
    output.print_table(("role", "rules", "invalid lines", "list"), _rows(found["lists"]))
    if not found["lists"]:
        typer.echo("There are no lists. Set KURZ_BLOCKLISTS to files of hosts and URLs.")
    typer.echo()
    rows = [("compiled", f"{found['hosts']:,} hosts and URLs, {found['bytes'] / 1e6:,.1f} MB")]
    if found["has_other_shorteners"]:
        rows.append(("shorteners", "links to other shorteners are refused"))
    if found["banned_hosts"]:
        rows.append(("banned", f"{found['banned_hosts']:,} hosts"))
    rows.append(("held links", f"{found['held_links']:,}"))
    rows.append(("last run", _run(found["last_run"], found["last_counts"], found["now"])))
    for label, text in rows:
        typer.echo(typer.style(f"{label:<12}", dim=True) + text)
    if not found["is_sure"]:
        typer.secho(
            "Some lists cannot be read. Visitors of new links see a warning.", fg="yellow", err=True
        )


def _rows(states: Sequence[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    return [
        (
            str(state["role"]),
            f"{state['rules']:,}",
            f"{state['bad_lines']:,}",
            state["path"]
            + (f"  cannot be read: {state['problem']}" if state["problem"] is not None else ""),
        )
        for state in states
    ]


def _run(started_at: datetime | None, counts: dict[str, int], now: datetime) -> str:
    if started_at is None:
        return "none yet"
    did = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return f"{output.relative(started_at, now)}: {did or 'nothing to do'}"
