"""What export and import show: progress, a summary, and files that are complete or absent."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

import typer

from kurz.cli import output
from kurz.cli.progress import RowCounter
from kurz.files import written_whole
from kurz.links.transfers import RowOutcome, RowResult, Summary

MOST_LISTED = 20
_COLOURS = {
    RowOutcome.CREATED: "green",
    RowOutcome.EXISTED: None,
    RowOutcome.CONFLICT: "yellow",
    RowOutcome.REFUSED: "red",
}


class ImportReport:
    """Shows the results of the rows: a summary for people, or every row as JSON; and every row in a
    file, if requested."""

    def __init__(self, path: Path | None, *, as_json: bool, is_dry: bool) -> None:
        self.summary = Summary()
        self._counting = RowCounter("rows")
        self._path = path
        self._file: BinaryIO | None = None
        self._closing = ExitStack()
        self._as_json = as_json
        self._is_dry = is_dry
        self._failed: list[RowResult] = []

    def __enter__(self) -> Self:
        self._counting.__enter__()
        if self._path is not None:  # what was done before the interruption is useful
            whole = written_whole(self._path, keeps_partial=True)
            self._file = self._closing.enter_context(whole)
        if self._as_json:
            typer.echo('{"rows": [', nl=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, *failure: Any) -> None:
        self._counting.__exit__()
        self._closing.__exit__(kind, *failure)
        if self._as_json:
            counts = {"dry_run": self._is_dry, "summary": self.summary.view()}
            typer.echo("\n], " + json.dumps(counts)[1:])
        elif kind is None:
            self._print()

    def add(self, results: Sequence[RowResult]) -> None:
        if self._as_json:
            self._print_rows(results)
        if self._file is not None:
            self._file.writelines(f"{_line(result)}\n".encode() for result in results)
        room = MOST_LISTED - len(self._failed)
        self._failed += [result for result in results if not result.is_in][:room]
        self.summary.add(results)
        self._counting.add(len(results))

    def interrupted(self) -> None:
        """Says what is done, before the error says why it ended."""
        done = self.summary[RowOutcome.CREATED]
        if done and not self._is_dry:
            text = (
                f"{done:,} links were imported. You can run the import again: existing"
                " links are not changed."
            )
            typer.secho(text, err=True)

    def _print_rows(self, results: Sequence[RowResult]) -> None:
        comma = "," if self.summary.rows else ""
        for result in results:
            typer.echo(f"{comma}\n{_line(result)}", nl=False)
            comma = ","

    def _print(self) -> None:
        for result in self._failed:
            place = typer.style(f"line {result.line:<6}", dim=True)
            outcome = typer.style(f"{result.outcome:<8}", fg=_COLOURS[result.outcome])
            name = result.short_code or result.original_url or ""
            typer.echo(f"{place}  {outcome}  {name[:40]:<12}  {result.reason}")
        more = (
            self.summary[RowOutcome.CONFLICT] + self.summary[RowOutcome.REFUSED] - len(self._failed)
        )
        if more:
            typer.secho(f"and {more:,} more; use --report FILE to get them all", dim=True)
        counts = " · ".join(
            typer.style(f"{self.summary[outcome]:,} {word}", fg=_COLOURS[outcome])
            for outcome, word in _WORDS.items()
        )
        typer.echo(counts + ("  (dry run: nothing was written)" if self._is_dry else ""))


_WORDS = {
    RowOutcome.CREATED: "created",
    RowOutcome.EXISTED: "existed",
    RowOutcome.CONFLICT: "conflicts",
    RowOutcome.REFUSED: "refused",
}


@contextmanager
def opened_output(file: str) -> Iterator[BinaryIO]:
    """A file that gets its name only when it is complete, readable only by its owner; - is the
    output."""
    if file == "-":
        yield sys.stdout.buffer
        return
    with written_whole(Path(file)) as target:
        yield target


def _line(result: RowResult) -> str:
    return output.escape_controls(json.dumps(result.view(), ensure_ascii=False))
