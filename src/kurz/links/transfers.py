"""Export and import as their callers see them. `kurz.transfer` does the work."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from kurz.links.model import ROOT_WORKSPACE_ID, Filter, Scope, Strategy
from kurz.people.quotas import Allowance


class TransferFormat(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"


MAX_SELECTED = 1000  # links in an export of selected ones: to read so many ids takes some 15 ms
MEDIA_TYPES = {
    TransferFormat.CSV: "text/csv; charset=utf-8",
    TransferFormat.JSONL: "application/jsonl",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTarget:
    """Where rows become links. `strategy` makes codes for rows without one; `redirect_status` is
    for rows that name none."""

    workspace_id: int = ROOT_WORKSPACE_ID
    owner_id: int | None = None
    strategy: Strategy = Strategy.RANDOM
    redirect_status: int = 302


class Targets(Protocol):
    async def find(self, workspace: str) -> ImportTarget | None:
        """The target of a row with this `workspace` column; empty if the row has none."""


class OneTarget:
    """Every row goes to the same target, whatever its `workspace` column says."""

    def __init__(self, target: ImportTarget) -> None:
        self._target = target

    async def find(self, workspace: str) -> ImportTarget | None:  # noqa: ARG002  that is the point
        return self._target


class RowOutcome(StrEnum):
    CREATED = "created"
    EXISTED = "existed"  # the same link exists already, and is unchanged
    CONFLICT = "conflict"  # another link has the code
    REFUSED = "refused"


@dataclass(slots=True)
class RowResult:
    """`line` is where the row begins in its file, and `last_line` where it ends, if that is another
    line; `problem` is the stable code of the reason, `field` the column that was refused, and
    `url_problem` what is wrong with a URL."""

    line: int
    outcome: RowOutcome
    short_code: str | None = None
    original_url: str | None = None
    problem: str | None = None
    reason: str | None = None
    field: str | None = None
    url_problem: str | None = None
    last_line: int | None = None

    @property
    def is_in(self) -> bool:
        return self.outcome in (RowOutcome.CREATED, RowOutcome.EXISTED)

    def view(self) -> dict[str, Any]:
        """For JSON; empty fields are left out."""
        fields = {
            "line": self.line,
            "last_line": self.last_line,
            "outcome": self.outcome,
            "short_code": self.short_code,
            "original_url": self.original_url,
            "problem": self.problem,
            "reason": self.reason,
            "field": self.field,
            "url_problem": self.url_problem,
        }
        return {name: value for name, value in fields.items() if value is not None}


class Summary:
    """How many rows had which outcome."""

    def __init__(self) -> None:
        self._counts: Counter[RowOutcome] = Counter()

    def add(self, results: Iterable[RowResult]) -> None:
        self._counts.update(result.outcome for result in results)

    def __getitem__(self, outcome: RowOutcome) -> int:
        return self._counts[outcome]

    @property
    def rows(self) -> int:
        return self._counts.total()

    @property
    def out(self) -> int:
        """How many rows were not imported."""
        return self._counts[RowOutcome.CONFLICT] + self._counts[RowOutcome.REFUSED]

    @property
    def is_whole(self) -> bool:
        """True if every row was imported."""
        return not self.out

    def view(self) -> dict[str, int]:
        return {
            "rows": self.rows,
            **{str(outcome): self._counts[outcome] for outcome in RowOutcome},
        }


class LinkExporter(Protocol):
    def run(
        self,
        format: TransferFormat,  # noqa: A002  the word of the product
        scope: Scope,
        slugs: Mapping[int, str],
        *,
        with_trash: bool = False,
        wanted: Filter | None = None,
        link_ids: Sequence[int] | None = None,
        tell: Callable[[int], None] = ...,
    ) -> AsyncIterator[bytes]:
        """The file in chunks, oldest link first. `slugs` names the workspaces by their ids. With
        `wanted` or `link_ids`, only links that match or that have these row ids; never both.
        `tell` is called with the number of links in each chunk."""


class LinkImporter(Protocol):
    def run(
        self,
        source: AsyncIterator[bytes],
        format: TransferFormat,  # noqa: A002  as above
        targets: Targets,
        *,
        allowances: tuple[Allowance, ...] = (),
        own_hosts: Collection[str] = (),
        is_dry: bool = False,
        gives_way: bool = False,
    ) -> AsyncIterator[list[RowResult]]:
        """The results of the rows, in the order of the file, some at a time; `targets` says where
        they go. `FileRefused`: this is not a file of links. A dry run writes nothing. `own_hosts`
        as in `LinkService.create`. `gives_way`: other work of this process goes first."""

    async def has_more_rows(
        self,
        source: AsyncIterator[bytes],
        format: TransferFormat,  # noqa: A002  as above
        most: int,
    ) -> bool:
        """Whether the file has more rows than that, including rows that would be refused.
        `FileRefused`: it has, but only because a quote is not closed, or it has far more lines than
        rows. Gives way."""
