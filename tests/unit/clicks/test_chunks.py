"""Stretches of segments: the same clicks in pieces of any size, whatever happened to the file."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kurz.clicks.chunks import read_chunk
from kurz.clicks.header import HEADER_BYTES, Header, path_of
from kurz.clicks.record import (
    FRAME_BYTES,
    MAX_RECORD_BYTES,
    encode,
    fields_of,
    link_tag_of,
    visit_of,
)
from kurz.clicks.segments import CHUNK_BYTES, Corrupt, quarantine
from support.journal_reader import Click, decode, read

ID = bytes(range(16))
HEADER = Header(ID, 1_700_000_000_000_000).encode()
one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def record(number: int, agent: int = 20) -> bytes:
    visit = visit_of(
        network=bytes([number % 256] * (6 if number % 2 else 3)),
        visitor=number.to_bytes(8),
        flags=number % 2,
        user_agent=b"a" * agent,
        referrer=b"https://a.example",
        language=b"de",
    )
    return encode(1_700_000_000_000_000 + number, 12_300, link_tag_of(number, 7), visit)


def segment(folder: Path, data: bytes) -> Path:
    path = path_of(folder, ID)
    path.write_bytes(HEADER + data)
    return path


def read_all(path: Path, max_records: int) -> tuple[list[Click], int]:
    """As a loader does it: the clicks, and where it ended."""
    found: list[Click] = []
    offset = 0
    for _ in range(1000):
        try:
            records, end = read_chunk(path, offset, max_records)
        except Corrupt as corrupt:
            offset = quarantine(path, corrupt.offset).next_offset
            continue
        if not records:
            return found, end
        assert len(records) <= max_records
        found.extend(Click(*fields) for fields in records)
        offset = end
    raise AssertionError("there is no end to the segment")


def test_a_chunk_holds_what_the_records_hold(tmp_path):
    written = [record(number) for number in range(10)]
    path = segment(tmp_path, b"".join(written))
    records, end = read_chunk(path, 0, 100)
    assert records == [fields_of(each[FRAME_BYTES:]) for each in written]
    assert end == path.stat().st_size
    assert read_chunk(path, end, 100) == ([], end)


@pytest.mark.parametrize("max_records", [1, 3, 10, 11])
def test_chunks_end_where_the_next_begins(tmp_path, max_records):
    written = [record(number, agent=number) for number in range(10)]
    path = segment(tmp_path, b"".join(written))
    records, end = read_chunk(path, 0, max_records)
    assert len(records) == min(max_records, 10)
    assert end == HEADER_BYTES + sum(map(len, written[: len(records)]))
    clicks, end = read_all(path, max_records)
    assert clicks == [decode(each[FRAME_BYTES:]) for each in written]
    assert end == path.stat().st_size


def test_a_chunk_may_be_longer_than_one_reading(tmp_path):
    path = segment(tmp_path, b"".join(record(number, agent=256) for number in range(8000)))
    assert path.stat().st_size > 2 * CHUNK_BYTES
    records, end = read_chunk(path, 0, 10_000)
    assert [fields[2] for fields in records] == list(range(8000))
    assert end == path.stat().st_size


def test_the_longest_records_fit_one_by_one(tmp_path):
    path = segment(tmp_path, b"".join(record(number, agent=256) for number in range(20)))
    clicks, end = read_all(path, 1)
    assert len(clicks) == 20
    assert end == path.stat().st_size


def test_a_torn_end_is_read_when_it_has_become_whole(tmp_path):
    path = segment(tmp_path, record(1) + record(2)[:30])
    records, end = read_chunk(path, 0, 10)
    assert [fields[2] for fields in records] == [1]
    assert read_chunk(path, end, 10) == ([], end)
    with path.open("ab") as file:
        file.write(record(2)[30:])
    assert [fields[2] for fields in read_chunk(path, end, 10).records] == [2]


def test_a_segment_cut_at_any_byte_is_a_prefix_of_its_records(tmp_path):
    records = [record(number) for number in range(4)]
    whole = HEADER + b"".join(records)
    ends = [HEADER_BYTES + sum(map(len, records[:count])) for count in range(5)]
    path = segment(tmp_path, b"")
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        found = read_chunk(path, 0, 10)
        count = sum(end <= size for end in ends[1:])
        assert [fields[2] for fields in found.records] == list(range(count))
        assert found.end == (ends[count] if count else 0)


def test_damage_is_told_only_when_it_comes_first(tmp_path):
    whole = bytearray(b"".join(record(number) for number in range(10)))
    size = len(record(0))
    whole[4 * size + 10] ^= 1
    path = segment(tmp_path, bytes(whole) + bytes(MAX_RECORD_BYTES))
    records, end = read_chunk(path, 0, 100)
    assert [fields[2] for fields in records] == [0, 1, 2, 3]
    with pytest.raises(Corrupt) as caught:
        read_chunk(path, end, 100)
    assert caught.value.offset == end


def test_a_damaged_header_is_damage(tmp_path):
    path = segment(tmp_path, record(1))
    path.write_bytes(b"x" + path.read_bytes()[1:])
    with pytest.raises(Corrupt):
        read_chunk(path, 0, 10)


@one_folder
@given(st.data())
def test_chunks_of_any_size_hold_the_same_clicks(tmp_path, data):
    whole = bytearray(b"".join(record(number, agent=number * 7 % 256) for number in range(12)))
    start = data.draw(st.integers(0, len(whole)))
    junk = data.draw(st.binary(max_size=600))
    whole[start : start + data.draw(st.integers(0, 600))] = junk
    path = segment(tmp_path, bytes(whole))
    expected: list[Click] = []
    offset = 0
    while True:
        try:
            for click, end in read(path, offset):
                expected.append(click)
                offset = end
            break
        except Corrupt as corrupt:
            offset = quarantine(path, corrupt.offset).next_offset
    assert read_all(path, data.draw(st.integers(1, 13))) == (expected, offset)
    (tmp_path / f"{ID.hex()}.corrupt").unlink(missing_ok=True)
