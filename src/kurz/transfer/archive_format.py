"""A file of the archive: gzipped JSON Lines as `kurz export` writes them, with one more key in each
line, `archive`, which has what is needed to restore the link
(`docs/reference/transfer-format.md`)."""

import gzip
import re
import secrets
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import count
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kurz.links.ending.archives import ArchivedLink, CountedDay, CountedTotals
from kurz.links.errors import ArchiveFileBroken
from kurz.links.model import DestinationStatus, Link, LinkType, Status, Strategy
from kurz.links.urls import MAX_URL_BYTES
from kurz.transfer.format import FIELDS
from kurz.transfer.reading import MAX_LINE_BYTES as MAX_ROW_BYTES
from kurz.transfer.unpacking import FREE_BYTES, MAX_LINE_BYTES, Unpacker
from kurz.transfer.writing import record

MAX_LINKS = 10_000  # in a file; the archiver writes 1000
MAX_UNPACKED_BYTES = 128 * 1024 * 1024
MAX_DAYS = 36_525  # of a link: a century
ARCHIVE = "archive"  # the key
SUFFIX = ".jsonl.gz"
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)  # what decoding raises
_NAME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})-[0-9a-f]{16}" + re.escape(SUFFIX))
_SMALL_BYTES = 1024 * 1024  # a line of this size is decoded without checking it first
# A day has two braces; other fields may have some. Counting them needs no memory.
_MAX_BRACES = 2 * MAX_DAYS + 10_000
# What commands show of every line, with the lengths that no link exceeds.
_LENGTHS = {"short_code": 128, "workspace": 100, "original_url": MAX_URL_BYTES}
_Instant = Annotated[datetime, Meta(tz=True)]
_Count = Annotated[int, Meta(ge=0, le=2**53)]  # what a JavaScript number holds exactly
# Enough for half a billion new links a second for a week; a forged id cannot use up the rest.
_RowId = Annotated[int, Meta(ge=1, le=2**48)]


class _Totals(msgspec.Struct):
    clicks: _Count
    timed: _Count
    mean_ms: Annotated[float, Meta(ge=0, le=1e12)]
    m2: Annotated[float, Meta(ge=0, le=1e40)]  # 2^53 times the square of that


class _Day(msgspec.Struct, omit_defaults=True):
    day: date
    clicks: _Count
    people: _Count
    visitors: _Count
    counts: msgspec.Raw
    sketch: bytes
    month: bytes | None = None


class _Archive(msgspec.Struct, kw_only=True):
    installation: str
    id: _RowId
    version: _RowId
    workspace_id: Annotated[int, Meta(ge=0, le=2**53)]
    canonical_url: str
    location: str
    owner_id: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None
    status: Status
    destination_status: DestinationStatus | None
    destination_http_status: Annotated[int, Meta(ge=100, le=599)] | None = None
    last_checked_at: _Instant | None
    held_at: _Instant | None = None
    claim_hash: bytes | None
    totals: _Totals | None
    days: list[_Day]


class _Line(msgspec.Struct, kw_only=True):
    short_code: str
    original_url: str
    title: str | None
    tags: msgspec.Raw
    notes: str | None
    link_type: LinkType
    strategy: Strategy
    redirect_status: int
    forward_query: bool
    max_clicks: _Count | None
    clicks_used: _Count
    created_at: _Instant
    updated_at: _Instant
    starts_at: _Instant | None
    expires_at: _Instant | None
    deleted_at: _Instant | None
    swept_at: _Instant | None
    redirect_count: _Count
    avg_redirect_ms: float | None
    workspace: str
    archive: _Archive


# The fields of a link. `status` in a line is what people see.
_SHARED = {*_Line.__struct_fields__} - {"workspace", ARCHIVE}
_OWN = {*_Archive.__struct_fields__} - {"installation", "claim_hash", "totals", "days"}


class _Outlined(msgspec.Struct):
    days: msgspec.Raw


class _Outline(msgspec.Struct):
    """A line of which nothing is decoded."""

    archive: _Outlined


class _TooLarge(Exception):
    """The line is not a link. The message completes “Line 7 …”."""


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that would take too much memory. The others can be read."""

    detail: str


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A line of a file: a link, the slug of its workspace at that time, and its installation."""

    archived: ArchivedLink
    workspace: str
    installation: str


def new_name(now: datetime) -> str:
    """A name that is never used again."""
    return f"{now:%Y-%m-%d}-{secrets.token_hex(8)}{SUFFIX}"


def day_of(name: str) -> date | None:
    """The day in a file's name. None: it is not such a name."""
    found = _NAME.fullmatch(name)
    try:
        return None if found is None else date.fromisoformat(found[1])
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Encoded:
    """The lines of a file, the links in it, and the ids of those that could not be restored from
    their lines."""

    data: bytes
    links: Sequence[ArchivedLink]
    unfit: frozenset[int]


def encode(
    links: Iterable[ArchivedLink], slugs: Mapping[int, str], installation: str, now: datetime
) -> bytes:
    """The lines of a file; `Signer.pack` turns them into a file."""
    return b"".join(_line(item, slugs, installation, now) + b"\n" for item in links)


def _line(item: ArchivedLink, slugs: Mapping[int, str], installation: str, now: datetime) -> bytes:
    return msgspec.json.encode(
        record(item.link, slugs.get(item.link.workspace_id, ""), now)
        | {ARCHIVE: _archive(item, installation)}
    )


def encode_sound(
    links: Sequence[ArchivedLink], slugs: Mapping[int, str], installation: str, now: datetime
) -> Encoded:
    """Encodes the links that can be read back unchanged, from the first on: as many as fit into
    `FREE_BYTES`, and at least one."""
    lines: list[bytes] = []
    sound: list[ArchivedLink] = []
    unfit: set[int] = set()
    size = 0
    for item in links:
        try:
            line = _line(item, slugs, installation, now)
            is_sound = _comes_back(item, line)
        except (ArchiveFileBroken, msgspec.MsgspecError, ValueError):
            is_sound = False
        if not is_sound:
            unfit.add(item.link.id)
            continue
        size += len(line) + 1
        if sound and size > FREE_BYTES:
            break
        lines.append(line + b"\n")
        sound.append(item)
    return Encoded(b"".join(lines), sound, frozenset(unfit))


def _comes_back(item: ArchivedLink, line: bytes) -> bool:
    if b"\n" in line or len(line) > MAX_LINE_BYTES:
        return False
    if len(line) >= FREE_BYTES:
        [entry] = decode(gzip.compress(line))
        return entry.archived == item
    found = _read(1, line)
    return isinstance(found, ArchiveEntry) and found.archived == item


def decode(data: bytes) -> Iterator[ArchiveEntry]:
    """Like `decode_lines`, but a refused line raises `ArchiveFileBroken` too."""
    for found in decode_lines(data):
        if isinstance(found, RefusedLine):
            raise ArchiveFileBroken(found.detail)
        yield found


def decode_lines(data: bytes) -> Iterator[ArchiveEntry | RefusedLine]:
    """The lines of a file, one at a time. Raises `ArchiveFileBroken` if it is incomplete."""
    # Unlike a loop here, `map` does not keep the last line while the next one is read.
    return map(_read, count(1), _lines(Unpacker(MAX_UNPACKED_BYTES), data))


def _read(number: int, line: bytes | None) -> ArchiveEntry | RefusedLine:
    if number > MAX_LINKS:
        raise ArchiveFileBroken(f"An archive file can have at most {MAX_LINKS:,} links.")
    try:
        if line is None:
            raise _TooLarge(f"has more than {MAX_LINE_BYTES >> 20} MiB")
        if len(line) > _SMALL_BYTES:
            _check_size(line)
        return _entry(msgspec.json.decode(line, type=_Line))
    except _TooLarge as error:
        return RefusedLine(f"Line {number} {error}.")
    except UNREADABLE as error:
        raise ArchiveFileBroken(f"Line {number} is not a valid archive line: {error}") from error


def _check_size(line: bytes) -> None:
    """Decoded, short texts and days take ten times the memory of their bytes."""
    days = msgspec.json.decode(line, type=_Outline).archive.days
    if len(line) - memoryview(days).nbytes > MAX_ROW_BYTES:
        raise _TooLarge(f"has more than {MAX_ROW_BYTES >> 10} KiB besides its days")
    if line.count(b"{") > _MAX_BRACES:
        raise _TooLarge(f"has more than {MAX_DAYS:,} days")


def _lines(unpacker: Unpacker, data: bytes) -> Iterator[bytes | None]:
    yield from unpacker.feed(data)
    yield from unpacker.end()


async def plain_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a gzipped file of JSON objects, as an import reads them: without `archive`,
    which may be long. What is not an object is unchanged, and the import refuses it."""
    unpacker = Unpacker()
    async for chunk in chunks:
        for line in unpacker.feed(chunk):
            yield _plain(line) + b"\n"
    for line in unpacker.end():
        yield _plain(line)


def _plain(line: bytes | None) -> bytes:
    if line is None:
        raise ArchiveFileBroken(f"A line has more than {MAX_LINE_BYTES >> 20} MiB.")
    try:
        if len(line) > MAX_ROW_BYTES:
            return _without_archive(line)
        found = msgspec.json.decode(line)
    except UNREADABLE:
        return line
    if not isinstance(found, dict) or ARCHIVE not in found:
        return line
    del found[ARCHIVE]
    return msgspec.json.encode(found)


# The fields of a line as raw text: whatever is in them is not decoded into memory.
_RawLine = msgspec.defstruct(
    "_RawLine",
    [(name, msgspec.Raw, msgspec.Raw()) for name in (*FIELDS, ARCHIVE)],
    forbid_unknown_fields=True,
)


def _without_archive(line: bytes) -> bytes:
    found = msgspec.json.decode(line, type=_RawLine)
    values = {name: getattr(found, name) for name in FIELDS}
    return msgspec.json.encode({name: value for name, value in values.items() if bytes(value)})


def _archive(item: ArchivedLink, installation: str) -> _Archive:
    fields: dict[str, Any] = {name: getattr(item.link, name) for name in _OWN}
    return _Archive(
        installation=installation,
        claim_hash=item.claim_hash,
        totals=None if item.totals is None else _Totals(*item.totals),
        days=[_day(day) for day in item.days],
        **fields,
    )


def _day(day: CountedDay) -> _Day:
    return _Day(*day._replace(counts=msgspec.Raw(day.counts)))  # type: ignore[arg-type]


def _entry(line: _Line) -> ArchiveEntry:
    own = line.archive
    if len(own.days) > MAX_DAYS:
        raise _TooLarge(f"has more than {MAX_DAYS:,} days")
    for name, length in _LENGTHS.items():
        if len(getattr(line, name)) > length:
            raise _TooLarge(f"has more than {length:,} characters in `{name}`")
    fields: dict[str, Any] = {name: getattr(line, name) for name in _SHARED}
    fields |= {name: getattr(own, name) for name in _OWN} | {"tags": _tags(line.tags)}
    totals = own.totals
    return ArchiveEntry(
        ArchivedLink(
            Link(**fields),
            own.claim_hash,
            None if totals is None else CountedTotals(*msgspec.structs.astuple(totals)),
            _days(own.days),
        ),
        line.workspace,
        own.installation,
    )


def _tags(tags: msgspec.Raw) -> tuple[str, ...]:
    """A list of short texts takes ten times the memory of its bytes."""
    if len(bytes(tags)) > MAX_ROW_BYTES:
        raise _TooLarge("has too many tags")
    return msgspec.json.decode(tags, type=tuple[str, ...])


def _days(days: Sequence[_Day]) -> list[CountedDay]:
    return [
        CountedDay(it.day, it.clicks, it.people, it.visitors, bytes(it.counts), it.sketch, it.month)
        for it in days
    ]
