"""A store for dry runs: it answers as the real one would, and writes nothing."""

from collections.abc import Sequence
from datetime import datetime

from kurz.links.bulk import BulkStore, Holder, Stored
from kurz.links.model import Link, Strategy
from kurz.people.quotas import Allowance


class Rehearsal:
    """Remembers the rows of the file so far, which takes about 0.5 KB of memory per row."""

    def __init__(self, store: BulkStore) -> None:
        self._store = store
        self._by_code: dict[tuple[int, str], Holder] = {}
        self._by_url: dict[tuple[int, str], Holder] = {}
        self._created = 0

    async def insert(
        self, links: Sequence[Link], allowances: tuple[Allowance, ...], now: datetime
    ) -> list[Stored]:
        holders = await self._store.find_holders(links, now)
        quota = await self._store.find_left(allowances, now) if allowances else None
        results: list[Stored] = []
        for link, stored in zip(links, holders, strict=True):
            holder = stored or self._find(link)
            if holder is not None:
                results.append(holder)
            elif quota is not None and self._created >= quota[0]:
                results.append(quota[1])
            else:
                results.append(0)
                self._keep(link)
        return results

    def _find(self, link: Link) -> Holder | None:
        found = self._by_code.get((link.workspace_id, link.short_code))
        if found is None and link.strategy is Strategy.DETERMINISTIC:
            found = self._by_url.get((link.workspace_id, link.canonical_url))
        return found

    def _keep(self, link: Link) -> None:
        self._created += 1
        holder = Holder(link.short_code, link.original_url, link.canonical_url)
        self._by_code[link.workspace_id, link.short_code] = holder
        if link.strategy is Strategy.DETERMINISTIC:
            self._by_url[link.workspace_id, link.canonical_url] = holder
