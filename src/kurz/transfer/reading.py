"""Turns bytes into records while they arrive. An unreadable row does not affect the others."""

import codecs
import csv
import json
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from kurz.links.cells import rearm
from kurz.links.transfers import TransferFormat
from kurz.transfer.errors import FileRefused
from kurz.transfer.format import KNOWN, fields_of

MAX_LINE_BYTES = 64 * 1024  # also of a row over several lines
_TOO_LONG = f"A row can have at most {MAX_LINE_BYTES // 1024} KiB."

# A row's first line; its fields that are not empty, or the sentence that says why there are none;
# and its last line.
Record = tuple[int, dict[str, Any] | str, int]


class Reader(Protocol):
    """`unclosed_line` is the first one with a quote that is not closed in a row of allowed size."""

    unclosed_line: int | None

    @property
    def line(self) -> int:
        """The number of lines so far."""

    def feed(self, chunk: bytes) -> Iterator[Record]:
        """The records that are complete now. Consume them before the next call."""

    def end(self) -> Iterator[Record]:
        """The rest."""


def reader(format: TransferFormat) -> Reader:  # noqa: A002  the word of the product
    return CsvReader() if format is TransferFormat.CSV else JsonLinesReader()


class Lines:
    """Splits chunks into lines. A line that is too long is None, and never held in memory."""

    def __init__(self) -> None:
        self._rest = b""
        self.number = 0  # of the last one
        self._is_skipping = False

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes | None]]:
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            yield self._next(line)
        if len(self._rest) > MAX_LINE_BYTES:
            self._is_skipping = True
            self._rest = b""

    def end(self) -> Iterator[tuple[int, bytes | None]]:
        if self._rest or self._is_skipping:
            yield self._next(self._rest)
            self._rest = b""

    def _next(self, line: bytes) -> tuple[int, bytes | None]:
        self.number += 1
        if self.number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        is_too_long = self._is_skipping or len(line) > MAX_LINE_BYTES
        self._is_skipping = False
        return self.number, None if is_too_long else line.removesuffix(b"\r")


def _text(line: bytes) -> str:
    """Invalid UTF-8 becomes surrogates, which every field refuses."""
    return line.decode(errors="surrogateescape")


class JsonLinesReader:
    unclosed_line: int | None = None

    def __init__(self) -> None:
        self._lines = Lines()

    @property
    def line(self) -> int:
        return self._lines.number

    def feed(self, chunk: bytes) -> Iterator[Record]:
        return self._read(self._lines.feed(chunk))

    def end(self) -> Iterator[Record]:
        return self._read(self._lines.end())

    def _read(self, lines: Iterator[tuple[int, bytes | None]]) -> Iterator[Record]:
        for number, line in lines:
            if line is None:
                yield number, _TOO_LONG, number
            elif line.strip():
                yield number, _read_object(line), number


def _read_object(line: bytes) -> dict[str, Any] | str:
    try:
        found = json.loads(_text(line))
    except (ValueError, RecursionError):
        return "This line is not valid JSON."
    if not isinstance(found, dict):
        return "This line is not a JSON object."
    names: Iterable[str] = found
    if not found.keys() <= KNOWN:
        try:
            names = fields_of(found)
        except FileRefused as refused:
            return refused.detail
    pairs = zip(names, found.values(), strict=True)
    return {name: value for name, value in pairs if value is not None and value != ""}


class CsvReader:
    """RFC 4180, with the header row first. The delimiter is a comma or a semicolon, whichever the
    header has more of."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._fields: list[str] | None = None
        self._parser: _CsvParser | None = None
        self._open: deque[tuple[int, bytes]] = deque()  # lines of a row that is not complete yet
        self._open_bytes = 0
        self.unclosed_line: int | None = None

    @property
    def line(self) -> int:
        return self._lines.number

    def feed(self, chunk: bytes) -> Iterator[Record]:
        return self._take(self._lines.feed(chunk))

    def end(self) -> Iterator[Record]:
        yield from self._take(self._lines.end())
        self._note_unclosed()
        while self._open:
            yield from self._give_up()
        if self._fields is None:
            raise FileRefused(
                "The file is empty. Its first line must name the columns.", reason="empty"
            )

    def _take(self, lines: Iterator[tuple[int, bytes | None]]) -> Iterator[Record]:
        for number, line in lines:
            if line is not None:
                yield from self._add(number, line)
                continue
            self._note_unclosed()
            while self._open:
                yield from self._give_up()
            if self._fields is None:
                raise FileRefused("The first line must name the columns, but it is too long.")
            yield number, _TOO_LONG, number

    def _add(self, number: int, line: bytes) -> Iterator[Record]:
        is_odd = line.count(b'"') & 1
        if not self._open:
            if is_odd:
                self._keep(number, line)
            elif line:
                yield from self._read(number, line)
            return
        self._keep(number, line)
        if is_odd:  # the quotes are even now: the row ends here
            yield from self._close()
        elif self._open_bytes > MAX_LINE_BYTES:
            self._note_unclosed()
            yield from self._give_up()

    def _keep(self, number: int, line: bytes) -> None:
        self._open.append((number, line))
        self._open_bytes += len(line) + 1

    def _note_unclosed(self) -> None:
        if self._open and self.unclosed_line is None:
            self.unclosed_line = self._open[0][0]

    def _close(self) -> Iterator[Record]:
        number = self._open[0][0]
        whole = b"\n".join(line for _, line in self._open)
        if len(whole) > MAX_LINE_BYTES or self._cells(whole) is None:
            yield from self._give_up()
            return
        self._open.clear()
        self._open_bytes = 0
        yield from self._read(number, whole)

    def _give_up(self) -> Iterator[Record]:
        """A quote was not closed, or is just a character: the first line becomes a row of its own,
        and the lines after it are parsed again."""
        if not self._open:
            return
        number, line = self._open.popleft()
        again, self._open, self._open_bytes = self._open, deque(), 0
        yield from self._read(number, line)
        for number, line in again:
            yield from self._add(number, line)

    def _cells(self, row: bytes) -> list[str] | None:
        text = _text(row)
        if self._parser is None:
            self._parser = _CsvParser(";" if text.count(";") > text.count(",") else ",")
        return self._parser.parse(text)

    def _read(self, number: int, row: bytes) -> Iterator[Record]:
        cells = self._cells(row)
        last = number + row.count(b"\n")
        if self._fields is None:
            if cells is None:
                raise FileRefused("The first line must name the columns, but it cannot be read.")
            self._fields = fields_of(cells)
        elif cells is None:
            yield number, "This row is not valid CSV: check its quotes.", last
        elif len(cells) != len(self._fields):
            wanted = len(self._fields)
            yield (
                number,
                f"This row has {len(cells)} cells, but the first line has {wanted} columns.",
                last,
            )
        else:
            yield number, _record(self._fields, cells), last


def _record(fields: list[str], cells: list[str]) -> dict[str, Any]:
    return {
        field: rearm(cell) if "'" in cell else cell
        for field, cell in zip(fields, cells, strict=True)
        if cell
    }


class _CsvParser:
    """One row at a time through one `csv.reader`, which makes it cheap."""

    def __init__(self, delimiter: str) -> None:
        self._text: str | None = None
        self._reader = csv.reader(self, delimiter=delimiter, strict=True)

    def __iter__(self) -> "_CsvParser":
        return self

    def __next__(self) -> str:
        text, self._text = self._text, None
        if text is None:
            raise StopIteration
        return text

    def parse(self, text: str) -> list[str] | None:
        """None: this is not a row."""
        self._text = text
        try:
            return next(self._reader)
        except (csv.Error, StopIteration):
            self._text = None
            return None
