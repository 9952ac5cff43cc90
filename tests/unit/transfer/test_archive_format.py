"""What an archive's files hold comes back as it was; who signed it is known, and it takes no more
memory than it should."""

import gzip
import json
import secrets
import tracemalloc
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from kurz.links.ending.archives import ArchivedLink, CountedDay
from kurz.links.errors import ArchiveFileBroken
from kurz.links.model import DestinationStatus, Status, Strategy
from kurz.transfer.archive_format import (
    MAX_DAYS,
    RefusedLine,
    decode,
    decode_lines,
    encode,
    encode_sound,
    plain_lines,
)
from kurz.transfer.signing import Signer
from support.links import link

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LINK = link(
    "launch",
    id=7,
    version=3,
    strategy=Strategy.CUSTOM,
    url="https://example.com/",
    owner_id=5,
    status=Status.DELETED,
    created_at=AT,
    updated_at=AT,
    deleted_at=AT,
)
CHECKED = replace(
    LINK,
    destination_status=DestinationStatus.BROKEN,
    destination_http_status=404,
    last_checked_at=AT,
)


SIGNER = Signer(bytes(range(32)))
NAME = "2026-03-01-0123456789abcdef.jsonl.gz"


@pytest.mark.parametrize("link", [LINK, CHECKED, replace(LINK, held_at=AT)])
def test_a_link_comes_back_as_it_was(link):
    archived = ArchivedLink(link, None, None, [])
    encoded = encode_sound([archived], {}, "here", AT)
    assert [*encoded.links] == [archived]
    file = SIGNER.pack(NAME, encoded.data)
    assert [entry.archived for entry in decode(file)] == [archived]


def test_a_signed_file_is_a_gzip_file_like_any_other():
    data = encode([ArchivedLink(LINK)], {}, "here", AT)
    file = SIGNER.pack(NAME, data)
    assert gzip.decompress(file) == data
    assert SIGNER.is_signed(NAME, file)


def test_every_byte_and_the_name_are_signed():
    file = SIGNER.pack(NAME, encode([ArchivedLink(LINK)], {}, "here", AT))
    for at in range(len(file)):
        assert not SIGNER.is_signed(NAME, file[:at] + bytes([file[at] ^ 1]) + file[at + 1 :])
        assert not SIGNER.is_signed(NAME, file[:at])
    assert not SIGNER.is_signed(NAME.replace("f", "e"), file)
    assert not SIGNER.is_signed(NAME, file + b"\0")
    assert not Signer(bytes(32)).is_signed(NAME, file)


def _line(**fields: Any) -> bytes:
    found = json.loads(encode([ArchivedLink(LINK)], {}, "here", AT))
    return json.dumps(found | fields).encode() + b"\n"


BOMBS = {
    "a line of zeros": lambda: bytes(2**26),
    "empty lines": lambda: b"\n" * 2**26,
    "many lines": lambda: _line() * 60_000,
    "a long line": lambda: _line(notes="x" * 2**26),
    "many tags": lambda: _line(tags=["@"]).replace(b'"@"', b'"ab",' * 2**20 + b'"ab"'),
    "many days": lambda: _with_days(CountedDay(AT.date(), 0, 0, 0, b"{}", b""), 150_000),
    "long codes": lambda: _line(short_code="x" * 2**19) * 20,
}


def _with_days(day: CountedDay, number: int, *, link_id: int = 7) -> bytes:
    """A line with that day as often. It is not made of so many objects."""
    one = ArchivedLink(replace(LINK, id=link_id), days=[day])
    head, start, rest = encode([one], {}, "here", AT).partition(b'"days":[')
    text, end, tail = rest.rpartition(b"]")
    return head + start + b",".join([text] * number) + end + tail


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused_and_takes_no_memory(name):
    """They come to 5, 12 or 64 MB, out of a thousandth or a hundredth of it."""
    file = gzip.compress(BOMBS[name]())
    assert len(file) < 600_000
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveFileBroken):
            deque(decode(file), maxlen=0)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


async def test_an_import_of_what_unpacks_to_too_much_takes_no_memory():
    file = gzip.compress(bytes(2**27))

    async def chunks() -> AsyncIterator[bytes]:
        yield file

    tracemalloc.start()
    try:
        with pytest.raises(ArchiveFileBroken, match="24 MiB"):
            [line async for line in plain_lines(chunks())]
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


async def test_what_an_import_leaves_out_takes_no_memory():
    line = _line(archive=["@"]).replace(b'"@"', b"[]," * 2**21 + b"[]")

    async def chunks() -> AsyncIterator[bytes]:
        yield gzip.compress(line)

    tracemalloc.start()
    try:
        [found] = [json.loads(line) async for line in plain_lines(chunks())]
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()
    whole = json.loads(_line())
    del whole["archive"]
    assert found == whole


async def test_what_is_no_text_is_no_line():
    file = gzip.compress(b'{"short_code":"\xff"}\n')

    async def chunks() -> AsyncIterator[bytes]:
        yield file

    with pytest.raises(ArchiveFileBroken, match="Line 1"):
        deque(decode(file), maxlen=0)
    assert [line async for line in plain_lines(chunks())] == [b'{"short_code":"\xff"}\n']


def test_what_follows_the_end_is_not_left_out_in_silence():
    file = gzip.compress(_line())
    with pytest.raises(ArchiveFileBroken, match="after the end"):
        deque(decode(file + file), maxlen=0)


def test_a_file_has_no_more_than_may_be_unpacked():
    """The rest goes into the next one; what fits into none stays where it is."""
    large = [
        ArchivedLink(replace(LINK, id=it), days=[CountedDay(AT.date(), 1, 1, 1, b"{}", noise)])
        for it in range(1, 4)
        for noise in [secrets.token_bytes(3 * 2**20)]
    ]
    encoded = encode_sound(large, {}, "here", AT)
    assert [item.link.id for item in encoded.links] == [1]
    assert encoded.unfit == set()
    endless = ArchivedLink(replace(LINK, id=9, notes="x" * 2**26), days=[])
    wordy = ArchivedLink(replace(LINK, id=8, notes="x" * 2**21), days=[])
    encoded = encode_sound([endless, wordy, *large], {}, "here", AT)
    assert [item.link.id for item in encoded.links] == [1]
    assert encoded.unfit == {8, 9}


def test_a_century_of_days_is_read_and_not_one_more():
    first = date(1970, 1, 1)
    days = [
        CountedDay(first + timedelta(days=it), 1, 1, 1, b'{"h00":1}', b"")
        for it in range(MAX_DAYS + 1)
    ]
    century = ArchivedLink(LINK, days=days[:-1])
    assert [it.archived for it in decode(_packed(century))] == [century]
    [refused] = decode_lines(_packed(replace(century, days=days)))
    assert refused == RefusedLine("Line 1 has more than 36,525 days.")


def _packed(archived: ArchivedLink) -> bytes:
    return gzip.compress(encode([archived], {}, "here", AT))


def test_a_line_that_is_too_large_does_not_keep_the_others_back():
    minimal = CountedDay(AT.date(), 0, 0, 0, b"{}", b"")
    noise = CountedDay(AT.date(), 0, 0, 0, b"{}", secrets.token_bytes(2**20))
    lines = (
        _line(),
        _with_days(noise, 25),
        _with_days(minimal, 90_000),
        _line(notes="x" * 2**21),
        _line(tags=["x"] * 2**15),
        _line(short_code="x" * 129),
        _line(),
    )
    found = [*decode_lines(gzip.compress(b"".join(lines), 1))]
    entry = found[0]
    assert found[1:] == [
        RefusedLine("Line 2 has more than 24 MiB."),
        RefusedLine("Line 3 has more than 36,525 days."),
        RefusedLine("Line 4 has more than 64 KiB besides its days."),
        RefusedLine("Line 5 has too many tags."),
        RefusedLine("Line 6 has more than 128 characters in `short_code`."),
        entry,
    ]


def test_reading_lines_takes_little_more_than_twice_the_longest():
    day = CountedDay(AT.date(), 1, 1, 1, b"{}", secrets.token_bytes(7500))
    line = _with_days(day, 1200)
    assert 12_000_000 < len(line) < 13_000_000
    file = gzip.compress(line * 3, 1)
    tracemalloc.start()
    try:
        deque(decode_lines(file), maxlen=0)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "archive",
    [
        {"id": 2**48 + 1},  # new links would have no numbers left
        {"version": 2**62},  # no later edit would count
        {"id": 0},
        {"owner_id": -1},
        {"workspace_id": 2**63},
        {"last_checked_at": "2026-03-01T12:00:00"},
        {"totals": {"clicks": -1, "timed": 0, "mean_ms": 0, "m2": 0}},
        {"totals": {"clicks": 1, "timed": 1, "mean_ms": 1e300, "m2": 0}},  # its square is too large
    ],
)
def test_numbers_and_instants_that_no_link_has_are_no_line(archive):
    own = json.loads(_line())["archive"]
    with pytest.raises(ArchiveFileBroken):
        deque(decode(gzip.compress(_line(archive=own | archive))), maxlen=0)
