"""Export and import as their callers know them. The work is done in `kurz.transfer`."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from kurz.links.model import ROOT_WORKSPACE_ID, Scope, Strategy
from kurz.people.quotas import Allowance


class TransferFormat(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"


MEDIA_TYPES = {
    TransferFormat.CSV: "text/csv; charset=utf-8",
    TransferFormat.JSONL: "application/jsonl",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where rows become links. `strategy` makes the codes of rows that bring none, and
    `redirect_status` is for rows that name none."""

    workspace_id: int = ROOT_WORKSPACE_ID
    owner_id: int | None = None
    strategy: Strategy = Strategy.RANDOM
    redirect_status: int = 302


class Targets(Protocol):
    async def find(self, workspace: str) -> Target | None:
        """The target of a row whose `workspace` column says this; empty for none."""


class OneTarget:
    """Every row goes to the same place, whatever its `workspace` column says."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def find(self, workspace: str) -> Target | None:  # noqa: ARG002  that is the point
        return self._target


class Outcome(StrEnum):
    CREATED = "created"
    EXISTED = "existed"  # the same link was there already, and stays as it is
    CONFLICT = "conflict"  # another link has the code
    REFUSED = "refused"


@dataclass(slots=True)
class RowResult:
    """`line` is where the row begins in its file; `problem` is the stable code of the reason,
    `field` the column that was refused, and `flaw` what is wrong with a URL."""

    line: int
    outcome: Outcome
    short_code: str | None = None
    original_url: str | None = None
    problem: str | None = None
    reason: str | None = None
    field: str | None = None
    flaw: str | None = None

    @property
    def is_in(self) -> bool:
        return self.outcome in (Outcome.CREATED, Outcome.EXISTED)

    def view(self) -> dict[str, Any]:
        """As programs see it; what there is not is left out."""
        fields = {
            "line": self.line,
            "outcome": self.outcome,
            "short_code": self.short_code,
            "original_url": self.original_url,
            "problem": self.problem,
            "reason": self.reason,
            "field": self.field,
            "flaw": self.flaw,
        }
        return {name: value for name, value in fields.items() if value is not None}


class Summary:
    """How many rows had which outcome."""

    def __init__(self) -> None:
        self._counts: Counter[Outcome] = Counter()

    def add(self, results: Iterable[RowResult]) -> None:
        self._counts.update(result.outcome for result in results)

    def __getitem__(self, outcome: Outcome) -> int:
        return self._counts[outcome]

    @property
    def rows(self) -> int:
        return self._counts.total()

    @property
    def out(self) -> int:
        """How many rows are not in."""
        return self._counts[Outcome.CONFLICT] + self._counts[Outcome.REFUSED]

    @property
    def is_whole(self) -> bool:
        """True when every row is in."""
        return not self.out

    def view(self) -> dict[str, int]:
        return {"rows": self.rows, **{str(outcome): self._counts[outcome] for outcome in Outcome}}


class LinkExporter(Protocol):
    def run(
        self,
        format: TransferFormat,  # noqa: A002  the word of the product
        scope: Scope,
        slugs: Mapping[int, str],
        *,
        with_trash: bool = False,
        tell: Callable[[int], None] = ...,
    ) -> AsyncIterator[bytes]:
        """The file in chunks, oldest link first. `slugs` names the workspaces by their ids. `tell`
        is told how many links each chunk has."""


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
        they go. `FileRefused`: this is no file of links. A dry run writes nothing. `own_hosts` as
        in `LinkService.create`. `gives_way`: others in this process come first."""

    async def has_more_rows(
        self,
        source: AsyncIterator[bytes],
        format: TransferFormat,  # noqa: A002  as above
        most: int,
    ) -> bool:
        """Whether the file has more rows than that, also rows that would be refused. Gives way."""
