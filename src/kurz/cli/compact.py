"""`kurz admin compact`: gives unused space of the database back to the disk."""

from typing import TYPE_CHECKING, Any

import typer

from kurz.cli import output
from kurz.cli.progress import Stopwatch
from kurz.cli.session import AsJson, DataDir, with_kurz

if TYPE_CHECKING:
    from kurz.wiring.compacting import Compacted
    from kurz.wiring.core import Kurz

_LEAST_SHOWN = 1024**2  # bytes of a table


def compact(as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Give unused space of the database back to the disk."""
    from kurz.wiring.compacting import compact as compact_database
    from kurz.wiring.compacting import show_bytes

    with Stopwatch("Compacting") as watch:

        async def work(kurz: "Kurz") -> "Compacted":
            return await compact_database(kurz, watch.say)

        found = with_kurz(data_dir, work)
    if as_json:
        output.print_json(_view(found))
        return
    shown = [pair for pair in found.tables if pair[0].total_bytes >= _LEAST_SHOWN]
    if shown:
        rows = [
            (
                before.name,
                show_bytes(before.total_bytes),
                show_bytes(after.total_bytes),
                f"{before.dead_rows:,}",
            )
            for before, after in shown
        ]
        output.print_table(("table", "before", "after", "dead rows"), rows)
    typer.echo(f"before  {show_bytes(found.before)}")
    typer.echo(f"after   {show_bytes(found.after)}")


def _view(found: "Compacted") -> dict[str, Any]:
    return {
        "bytes_before": found.before,
        "bytes_after": found.after,
        "tables": [
            {
                "name": before.name,
                "bytes_before": before.total_bytes,
                "bytes_after": after.total_bytes,
                "dead_rows": before.dead_rows,
            }
            for before, after in found.tables
        ],
    }
