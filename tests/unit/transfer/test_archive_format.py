"""What an archive's files hold comes back as it was; who signed it is known, and it takes no more
memory than it should."""

import gzip
import json
import secrets
import tracemalloc
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kurz.links.archives import ArchivedLink
from kurz.links.errors import ArchiveFileBroken
from kurz.links.model import DestinationStatus, Link, LinkType, Status, Strategy
from kurz.transfer.archive_format import decode, encode, encode_sound, plain_lines
from kurz.transfer.signing import Signer

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LINK = Link(
    id=7,
    workspace_id=0,
    short_code="launch",
    version=3,
    strategy=Strategy.CUSTOM,
    original_url="https://example.com/",
    canonical_url="https://example.com/",
    location="https://example.com/",
    owner_id=5,
    link_type=LinkType.PERMANENT,
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
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused_and_takes_no_memory(name):
    """They come to 5 or 64 MB, out of a thousandth or a hundredth of it."""
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
        with pytest.raises(ArchiveFileBroken, match="64 MiB"):
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
        ArchivedLink(replace(LINK, id=it, notes=secrets.token_hex(2**21)), days=[])
        for it in range(1, 4)
    ]
    encoded = encode_sound(large, {}, "here", AT)
    assert [item.link.id for item in encoded.links] == [1]
    assert encoded.unfit == set()
    endless = ArchivedLink(replace(LINK, id=9, notes="x" * 2**26), days=[])
    encoded = encode_sound([endless, *large], {}, "here", AT)
    assert [item.link.id for item in encoded.links] == [1]
    assert encoded.unfit == {9}


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
