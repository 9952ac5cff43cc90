"""A file of the archive: gzipped JSON Lines as `kurz export` writes them, and in each line one key
more, `archive`, with what it takes to put the link back as it was
(`docs/reference/transfer-format.md`)."""

import gzip
import re
import secrets
import zlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import msgspec

from kurz.links.archives import ArchivedLink, CountedDay, CountedTotals
from kurz.links.errors import ArchiveFileBroken
from kurz.links.model import DestinationStatus, Link, LinkType, Status, Strategy
from kurz.transfer.writing import record

ARCHIVE = "archive"  # the key
SUFFIX = ".jsonl.gz"
_NAME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})-[0-9a-f]{16}" + re.escape(SUFFIX))
# Fields of a line that are a link's own; `status` in a line is what people see.
_SHARED = (
    "short_code",
    "original_url",
    "created_at",
    "updated_at",
    "starts_at",
    "expires_at",
    "deleted_at",
    "swept_at",
    "redirect_status",
    "title",
    "tags",
    "notes",
    "forward_query",
    "max_clicks",
    "clicks_used",
    "redirect_count",
    "avg_redirect_ms",
    "link_type",
    "strategy",
)
_OWN = (
    "id",
    "version",
    "workspace_id",
    "canonical_url",
    "location",
    "owner_id",
    "status",
    "destination_status",
    "destination_http_status",
    "last_checked_at",
    "held_at",
)


class _Totals(msgspec.Struct):
    clicks: int
    timed: int
    mean_ms: float
    m2: float


class _Day(msgspec.Struct):
    day: date
    clicks: int
    people: int
    visitors: int
    counts: msgspec.Raw
    sketch: bytes


class _Archive(msgspec.Struct, kw_only=True):
    installation: str
    id: int
    version: int
    workspace_id: int
    canonical_url: str
    location: str
    owner_id: int | None
    status: Status
    destination_status: DestinationStatus | int | None  # once it was the number
    destination_http_status: int | None = None
    last_checked_at: datetime | None
    held_at: datetime | None = None
    claim_hash: bytes | None
    totals: _Totals | None
    days: list[_Day]


class _Line(msgspec.Struct, kw_only=True):
    short_code: str
    original_url: str
    title: str | None
    tags: tuple[str, ...]
    notes: str | None
    link_type: LinkType
    strategy: Strategy
    redirect_status: int
    forward_query: bool
    max_clicks: int | None
    clicks_used: int
    created_at: datetime
    updated_at: datetime
    starts_at: datetime | None
    expires_at: datetime | None
    deleted_at: datetime | None
    swept_at: datetime | None
    redirect_count: int
    avg_redirect_ms: float | None
    workspace: str
    archive: _Archive


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a file: a link, the slug that its workspace had, and whose it is."""

    archived: ArchivedLink
    workspace: str
    installation: str


def new_name(now: datetime) -> str:
    """A name that nobody else has or will have."""
    return f"{now:%Y-%m-%d}-{secrets.token_hex(8)}{SUFFIX}"


def day_of(name: str) -> date | None:
    """The day in a file's name. None: it is no such name."""
    found = _NAME.fullmatch(name)
    try:
        return None if found is None else date.fromisoformat(found[1])
    except ValueError:
        return None


def encode(
    links: Iterable[ArchivedLink], slugs: Mapping[int, str], installation: str, now: datetime
) -> bytes:
    lines = [
        msgspec.json.encode(
            record(item.link, slugs.get(item.link.workspace_id, ""), now)
            | {ARCHIVE: _archive(item, installation)}
        )
        for item in links
    ]
    return gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0)


def decode(data: bytes) -> list[Entry]:
    """Raises `ArchiveFileBroken` for what is not whole."""
    try:
        lines = gzip.decompress(data).splitlines()
        return [_entry(msgspec.json.decode(line, type=_Line)) for line in lines]
    except (EOFError, OSError, zlib.error, msgspec.MsgspecError) as error:
        raise ArchiveFileBroken(f"The file is no whole file of an archive: {error}") from error


def encode_sound(
    links: Sequence[ArchivedLink], slugs: Mapping[int, str], installation: str, now: datetime
) -> tuple[bytes, Sequence[ArchivedLink]]:
    """The file, and the links in it: those that are read from it as they are."""

    def comes_back(some: Sequence[ArchivedLink]) -> bytes | None:
        try:
            data = encode(some, slugs, installation, now)
            found = [entry.archived for entry in decode(data)]
        except (ArchiveFileBroken, msgspec.MsgspecError, ValueError):
            return None
        return data if found == [*some] else None

    if (data := comes_back(links)) is not None:
        return data, links
    sound = [item for item in links if comes_back([item]) is not None]
    return encode(sound, slugs, installation, now), sound


async def plain_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a gzipped file of JSON objects as an import takes them: without `archive`, which
    may be of any length. What is no object stays as it is, for the import to refuse."""
    inflating = zlib.decompressobj(wbits=31)
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + _inflate(inflating, chunk)).split(b"\n")
        yield b"".join(_plain(line) + b"\n" for line in lines)
    if not inflating.eof:
        raise ArchiveFileBroken("The file ends too early.")
    yield _plain(rest)


def _inflate(inflating: Any, chunk: bytes) -> bytes:
    try:
        found: bytes = inflating.decompress(chunk)
    except zlib.error as error:
        raise ArchiveFileBroken(f"The file is not gzipped, or broken: {error}.") from None
    return found


def _plain(line: bytes) -> bytes:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        return line
    if not isinstance(found, dict) or ARCHIVE not in found:
        return line
    del found[ARCHIVE]
    return msgspec.json.encode(found)


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


def _entry(line: _Line) -> Entry:
    own = line.archive
    fields: dict[str, Any] = {name: getattr(line, name) for name in _SHARED}
    fields |= {name: getattr(own, name) for name in _OWN}
    if isinstance(own.destination_status, int):
        fields |= {"destination_status": None, "destination_http_status": own.destination_status}
    totals = own.totals
    return Entry(
        ArchivedLink(
            Link(**fields),
            own.claim_hash,
            None if totals is None else CountedTotals(*msgspec.structs.astuple(totals)),
            _days(own.days),
        ),
        line.workspace,
        own.installation,
    )


def _days(days: Sequence[_Day]) -> list[CountedDay]:
    return [
        CountedDay(it.day, it.clicks, it.people, it.visitors, bytes(it.counts), it.sketch)
        for it in days
    ]
