"""What a loader does with the bytes of a segment."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from kurz.clicks.agents import Agents
from kurz.clicks.batch import Batch, Home, Position
from kurz.clicks.chunks import read_chunk
from kurz.clicks.ports import CountryFinder
from kurz.clicks.record import Fields
from kurz.clicks.tally import tally


class ClickCounting:
    """The `Counting` of all that is kept of a click. Where nobody clicks, nothing is loaded to read
    user agents with."""

    def __init__(self, countries: CountryFinder) -> None:
        self._countries = countries

    def read(self, path: Path, offset: int, limit: int) -> tuple[Sequence[Fields], int]:
        return read_chunk(path, offset, limit)

    def link_ids(self, records: Sequence[Fields]) -> Collection[int]:
        return {link_id for _, _, link_id, *_ in records}

    def tally(
        self, records: Sequence[Fields], homes: Mapping[int, Home], start: Position, end: Position
    ) -> Batch:
        return tally(records, homes, self._agents, self._countries, start, end)

    @cached_property
    def _agents(self) -> Agents:
        return Agents()
