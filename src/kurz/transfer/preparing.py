"""Turns a record into a row that can be stored, or a result that says why not. Writes nothing."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from kurz.clock import Clock
from kurz.errors import KurzError
from kurz.links import urls
from kurz.links.errors import FieldRefused, UrlRefused
from kurz.links.model import Link, Strategy
from kurz.links.ports import Screen
from kurz.links.transfers import ImportTarget, RowOutcome, RowResult, Targets
from kurz.people.errors import WorkspaceNotFound
from kurz.transfer import rows
from kurz.transfer.codes import RowCodes
from kurz.transfer.format import shown
from kurz.transfer.reading import Record

MAX_TARGETS = 10_000  # cached workspaces; a file may name any number of them


@dataclass(slots=True)
class ImportRow:
    """A link to be stored. `attempt` counts the codes that were made for it; None: it has its
    own."""

    line: int
    link: Link
    attempt: int | None
    last_line: int


class Preparer:
    """`own_hosts` are the names that no link may lead to."""

    def __init__(
        self,
        targets: Targets,
        codes: RowCodes,
        own_hosts: tuple[Collection[str], ...],
        clock: Clock,
        screen: Screen,
    ) -> None:
        self._targets = targets
        self._codes = codes
        self._own_hosts = own_hosts
        self._clock = clock
        self._screen = screen
        self._now = clock.now()
        self._known: dict[str, ImportTarget] = {}

    def look_at_the_clock(self) -> None:
        """To be called from time to time: sets the time for the next rows."""
        self._now = self._clock.now()

    def prepare(self, record: Record) -> ImportRow | RowResult | None:
        """None: the row's workspace must be looked up first."""
        line, found, last_line = record
        if isinstance(found, str):
            return refusal(record, FieldRefused(found))
        try:
            target = self._known.get(_workspace(found))
            if target is None:
                return None
            url = urls.judge(rows.original_url(found), *self._own_hosts)
            link = rows.to_link(found, target, url, self._now)
            link.held_at = None if self._screen.admit(url.location) else self._now
        except KurzError as error:
            return refusal(record, error)
        if link.short_code:
            return ImportRow(line, link, None, last_line)
        is_deterministic = target.strategy is Strategy.DETERMINISTIC
        link.strategy = Strategy.DETERMINISTIC if is_deterministic else Strategy.RANDOM
        link.short_code = self._codes.code(link, 0)
        return ImportRow(line, link, 0, last_line)

    async def look_up(self, record: Record) -> ImportRow | RowResult:
        """Looks up the row's workspace, then prepares the row."""
        _, found, _ = record
        name = "" if isinstance(found, str) else _workspace(found)
        target = await self._targets.find(name)
        if target is not None:
            if len(self._known) >= MAX_TARGETS:
                self._known.clear()
            self._known[name] = target
            prepared = self.prepare(record)
            if prepared is not None:
                return prepared
        missing = WorkspaceNotFound(f"There is no workspace “{shown(name)}”.", field="workspace")
        return refusal(record, missing)


def _workspace(record: dict[str, Any]) -> str:
    name = record.get("workspace", "")
    if not isinstance(name, str):
        raise FieldRefused("`workspace` must be the slug of a workspace.", field="workspace")
    return name


def refusal(record: Record, error: KurzError) -> RowResult:
    line, found, last_line = record
    fields = {} if isinstance(found, str) else found
    code, url = fields.get("short_code"), fields.get("original_url")
    return RowResult(
        line,
        RowOutcome.REFUSED,
        shown(code) if isinstance(code, str) else None,
        shown(url) if isinstance(url, str) else None,
        error.code,
        error.detail,
        error.field,
        error.reason if isinstance(error, UrlRefused) else None,
        last_line if last_line > line else None,
    )
