"""What a loader does with the bytes of a segment."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from kurz.clicks.agents import Agents
from kurz.clicks.aggregate import aggregate
from kurz.clicks.batch import Batch, JournalPosition, LinkOwner
from kurz.clicks.chunks import read_chunk
from kurz.clicks.ports import CountryFinder
from kurz.clicks.record import Fields


class ClickCounting:
    """The `Counting` of clicks. The rules for user agents are loaded only when there are clicks."""

    def __init__(self, countries: CountryFinder) -> None:
        self._countries = countries

    def read(
        self, path: Path, offset: int, limit: int, until: int | None = None
    ) -> tuple[Sequence[Fields], int]:
        return read_chunk(path, offset, limit, until)

    def link_ids(self, records: Sequence[Fields]) -> Collection[int]:
        return {link_id for _, _, link_id, *_ in records}

    def aggregate(
        self,
        records: Sequence[Fields],
        owners: Mapping[int, LinkOwner],
        start: JournalPosition,
        end: JournalPosition,
    ) -> Batch:
        return aggregate(records, owners, self._agents, self._countries, start, end)

    @cached_property
    def _agents(self) -> Agents:
        return Agents()
