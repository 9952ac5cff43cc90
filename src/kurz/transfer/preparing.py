"""A record → a row that can be stored, or the result that says why not. Nothing is written."""

from collections.abc import Collection
from dataclasses import dataclass

from kurz.clock import Clock
from kurz.errors import KurzError
from kurz.links import urls
from kurz.links.errors import FieldRefused
from kurz.links.model import Link, Strategy
from kurz.links.transfers import Outcome, RowResult, Target, Targets
from kurz.people.errors import WorkspaceNotFound
from kurz.transfer import rows
from kurz.transfer.codes import RowCodes
from kurz.transfer.format import shown
from kurz.transfer.reading import Record

MAX_TARGETS = 10_000  # workspaces remembered; a file may name any number of them


@dataclass(slots=True)
class Row:
    """A link on its way into the store. `attempt` counts the codes that were made for it; None: it
    brought its own."""

    line: int
    link: Link
    attempt: int | None


class Preparer:
    """`own_hosts` are the names that no link may lead to."""

    def __init__(
        self,
        targets: Targets,
        codes: RowCodes,
        own_hosts: tuple[Collection[str], ...],
        clock: Clock,
    ) -> None:
        self._targets = targets
        self._codes = codes
        self._own_hosts = own_hosts
        self._clock = clock
        self._known: dict[str, Target] = {}

    async def prepare(self, record: Record) -> Row | RowResult:
        line, found = record
        if isinstance(found, str):
            return refusal(line, {}, FieldRefused(found))
        try:
            target = await self._target(found.get("workspace"))
            url = urls.judge(rows.original_url(found), *self._own_hosts)
            link = rows.to_link(found, target, url, self._clock.now())
        except KurzError as error:
            return refusal(line, found, error)
        if link.short_code:
            return Row(line, link, None)
        is_deterministic = target.strategy is Strategy.DETERMINISTIC
        link.strategy = Strategy.DETERMINISTIC if is_deterministic else Strategy.RANDOM
        link.short_code = self._codes.code(link, 0)
        return Row(line, link, 0)

    async def _target(self, workspace: object) -> Target:
        name = "" if workspace is None else workspace
        if not isinstance(name, str):
            raise FieldRefused("`workspace` is a workspace's slug.")
        target = self._known.get(name)
        if target is not None:
            return target
        target = await self._targets.find(name)
        if target is None:
            raise WorkspaceNotFound(f"There is no workspace “{shown(name)}”.")
        if len(self._known) < MAX_TARGETS:
            self._known[name] = target
        return target


def refusal(line: int, record: dict[str, object], error: KurzError) -> RowResult:
    code, url = record.get("short_code"), record.get("original_url")
    return RowResult(
        line,
        Outcome.REFUSED,
        shown(code) if isinstance(code, str) else None,
        shown(url) if isinstance(url, str) else None,
        error.code,
        error.detail,
    )
