"""Rows → the store. Decides what it means that somebody else is there already."""

import asyncio
from collections.abc import Sequence

from kurz.clock import Clock
from kurz.errors import KurzError, StoreUnavailable
from kurz.links.bulk import BulkInserter, Holder, Stored
from kurz.links.errors import CodesExhausted, CustomCodeTaken
from kurz.links.model import Link, Strategy
from kurz.links.transfers import Outcome, RowResult
from kurz.people.quotas import Allowance
from kurz.transfer.codes import ATTEMPTS, RowCodes
from kurz.transfer.preparing import Row

TRIES = 4  # of a batch that meets an outage, such as a lock or a deadlock
PAUSE_SECONDS = 0.25
ROUNDS = 20  # more than any row has codes to try


class Keeper:
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

    async def keep(self, batch: Sequence[Row | RowResult]) -> list[RowResult]:
        """The results of a batch, in its order; those that it has already stay."""
        results: list[RowResult | None] = [
            None if isinstance(item, Row) else item for item in batch
        ]
        waiting = [(place, item) for place, item in enumerate(batch) if isinstance(item, Row)]
        for _ in range(ROUNDS):
            if not waiting:
                break
            stored = await self._insert([row.link for _, row in waiting])
            again = []
            for (place, row), found in zip(waiting, stored, strict=True):
                results[place] = self._settle(row, found)
                if results[place] is None:
                    again.append((place, row))
            waiting = again
        for place, row in waiting:
            results[place] = _refused(row, StoreUnavailable("Someone else is changing this link."))
        return [result for result in results if result is not None]

    async def _insert(self, links: Sequence[Link]) -> list[Stored]:
        """Goes on after a short outage: a long import should not end by one."""
        for attempt in range(TRIES - 1):
            try:
                return await self._store.insert(links, self._allowances, self._clock.now())
            except StoreUnavailable:
                await asyncio.sleep(PAUSE_SECONDS * 2**attempt)
        return await self._store.insert(links, self._allowances, self._clock.now())

    def _settle(self, row: Row, found: Stored) -> RowResult | None:
        """None: the row was changed, or was unlucky, and goes in again."""
        if found is None:
            return None
        if isinstance(found, KurzError):
            return _refused(row, found)
        link = row.link
        if isinstance(found, Holder):
            return self._meet(row, found)
        return RowResult(row.line, Outcome.CREATED, link.short_code, link.original_url)

    def _meet(self, row: Row, holder: Holder) -> RowResult | None:
        link = row.link
        if row.attempt is not None:
            if holder.canonical_url == link.canonical_url:
                return RowResult(row.line, Outcome.EXISTED, holder.short_code, holder.original_url)
            return self._try_next(row, row.attempt + 1)
        if holder.short_code != link.short_code:
            # Another code is the URL's deterministic one: this link keeps its own.
            link.strategy = Strategy.CUSTOM
            return None
        if holder.original_url == link.original_url:
            return RowResult(row.line, Outcome.EXISTED, link.short_code, link.original_url)
        is_kept = not holder.original_url
        why = "is reserved for its former owner" if is_kept else "already leads to another URL"
        taken = CustomCodeTaken(f"The code “{link.short_code}” {why}.", field="short_code")
        return RowResult(
            row.line,
            Outcome.CONFLICT,
            link.short_code,
            link.original_url,
            taken.code,
            taken.detail,
            taken.field,
        )

    def _try_next(self, row: Row, attempt: int) -> RowResult | None:
        if attempt >= ATTEMPTS[row.link.strategy]:
            return _refused(row, CodesExhausted("All codes that were tried are taken."))
        row.attempt = attempt
        row.link.short_code = self._codes.code(row.link, attempt)
        return None


def _refused(row: Row, error: KurzError) -> RowResult:
    code = row.link.short_code if row.attempt is None else None
    return RowResult(
        row.line,
        Outcome.REFUSED,
        code,
        row.link.original_url,
        error.code,
        error.detail,
        error.field,
    )
