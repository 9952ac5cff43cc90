"""Stores rows. Decides what happens if a link with the same code or URL exists."""

import asyncio
from collections.abc import Sequence

from kurz.clock import Clock
from kurz.errors import KurzError, StoreUnavailable
from kurz.links.bulk import BulkInserter, Holder, Stored
from kurz.links.errors import CodesExhausted, CustomCodeTaken
from kurz.links.model import Link, Strategy
from kurz.links.transfers import RowOutcome, RowResult
from kurz.people.quotas import Allowance
from kurz.transfer.codes import ATTEMPTS, RowCodes
from kurz.transfer.preparing import ImportRow

TRIES = 4  # of a batch during an outage, such as a lock or a deadlock
PAUSE_SECONDS = 0.25
ROUNDS = 20  # more than any row has codes to try


class RowInserter:
    def __init__(
        self,
        store: BulkInserter,
        codes: RowCodes,
        allowances: tuple[Allowance, ...],
        clock: Clock,
    ) -> None:
        self._store = store
        self._codes = codes
        self._allowances = allowances
        self._clock = clock

    async def insert(self, batch: Sequence[ImportRow | RowResult]) -> list[RowResult]:
        """The results of a batch, in its order; results that it already contains stay."""
        results: list[RowResult | None] = [
            None if isinstance(item, ImportRow) else item for item in batch
        ]
        waiting = [(place, item) for place, item in enumerate(batch) if isinstance(item, ImportRow)]
        for _ in range(ROUNDS):
            if not waiting:
                break
            stored = await self._insert([row.link for _, row in waiting])
            again = []
            for (place, row), found in zip(waiting, stored, strict=True):
                results[place] = self._result_of(row, found)
                if results[place] is None:
                    again.append((place, row))
            waiting = again
        for place, row in waiting:
            results[place] = _refused(row, StoreUnavailable("Someone else is changing this link."))
        return [result for result in results if result is not None]

    async def _insert(self, links: Sequence[Link]) -> list[Stored]:
        """Continues after a short outage: it should not end a long import."""
        for attempt in range(TRIES - 1):
            try:
                return await self._store.insert(links, self._allowances, self._clock.now())
            except StoreUnavailable:
                await asyncio.sleep(PAUSE_SECONDS * 2**attempt)
        return await self._store.insert(links, self._allowances, self._clock.now())

    def _result_of(self, row: ImportRow, found: Stored) -> RowResult | None:
        """None: the row was changed, or its code was taken, and is tried again."""
        if found is None:
            return None
        if isinstance(found, KurzError):
            return _refused(row, found)
        link = row.link
        if isinstance(found, Holder):
            return self._meet(row, found)
        return RowResult(row.line, RowOutcome.CREATED, link.short_code, link.original_url)

    def _meet(self, row: ImportRow, holder: Holder) -> RowResult | None:
        link = row.link
        if row.attempt is not None:
            if holder.canonical_url == link.canonical_url:
                return RowResult(
                    row.line, RowOutcome.EXISTED, holder.short_code, holder.original_url
                )
            return self._try_next(row, row.attempt + 1)
        if holder.short_code != link.short_code:
            # The URL's deterministic link has another code: this link keeps its own.
            link.strategy = Strategy.CUSTOM
            return None
        if holder.original_url == link.original_url:
            return RowResult(row.line, RowOutcome.EXISTED, link.short_code, link.original_url)
        is_reserved = not holder.original_url
        why = "is reserved for its former owner" if is_reserved else "already leads to another URL"
        taken = CustomCodeTaken(f"The code “{link.short_code}” {why}.", field="short_code")
        return _refused(row, taken, RowOutcome.CONFLICT)

    def _try_next(self, row: ImportRow, attempt: int) -> RowResult | None:
        if attempt >= ATTEMPTS[row.link.strategy]:
            return _refused(row, CodesExhausted("All codes that were tried are taken."))
        row.attempt = attempt
        row.link.short_code = self._codes.code(row.link, attempt)
        return None


def _refused(
    row: ImportRow, error: KurzError, outcome: RowOutcome = RowOutcome.REFUSED
) -> RowResult:
    code = row.link.short_code if row.attempt is None else None
    return RowResult(
        row.line,
        outcome,
        code,
        row.link.original_url,
        error.code,
        error.detail,
        error.field,
        last_line=row.last_line if row.last_line > row.line else None,
    )
