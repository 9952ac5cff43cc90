"""A segment of a journal is read to its end, and nothing of it is changed."""

import fcntl

import pytest

from kurz.clicks.header import HEADER_BYTES
from kurz.clicks.verifying import find_damage
from support.clicks import click, write_segment

RECORD = len(click(1))


@pytest.fixture
def segment(tmp_path):
    return write_segment(tmp_path, *(click(number) for number in range(50)))


def test_a_whole_segment_is_good(segment):
    before = segment.read_bytes()
    assert find_damage(segment, 0) is None
    assert find_damage(segment, len(before)) is None
    assert segment.read_bytes() == before
    assert [*segment.parent.iterdir()] == [segment]


def test_each_flipped_bit_of_a_record_is_found(segment):
    before = segment.read_bytes()
    start = HEADER_BYTES + 10 * RECORD
    for bit in range(RECORD * 8):
        data = bytearray(before)
        data[start + bit // 8] ^= 1 << bit % 8
        segment.write_bytes(data)
        assert find_damage(segment, 0) == f"it cannot be read from byte {start:,} on", bit


def test_a_damaged_header_is_found(segment):
    data = bytearray(segment.read_bytes())
    data[10] ^= 1
    segment.write_bytes(data)
    assert find_damage(segment, 0) == "it cannot be read from byte 0 on"


def test_a_segment_under_another_name_is_found(segment):
    moved = segment.rename(segment.with_stem("0" * 32))
    assert find_damage(moved, 0) == "its header belongs to another segment"


@pytest.mark.parametrize("cut", [1, RECORD - 1])
@pytest.mark.parametrize("is_live", [True, False])
def test_an_unfinished_record_at_the_end_is_not_damage(segment, cut, is_live):
    segment.write_bytes(segment.read_bytes()[:-cut])
    with segment.open("rb") as holder:
        if is_live:
            fcntl.flock(holder, fcntl.LOCK_EX)
        assert find_damage(segment, HEADER_BYTES + 49 * RECORD) is None


def test_a_segment_that_lost_what_was_counted_is_found(segment):
    size = segment.stat().st_size
    segment.write_bytes(segment.read_bytes()[:-RECORD])
    problem = find_damage(segment, size)
    assert problem == (
        f"it ends at byte {size - RECORD:,}, but the database has counted its clicks to {size:,}"
    )


def test_an_empty_segment_is_good(tmp_path):
    segment = write_segment(tmp_path)
    assert find_damage(segment, 0) is None
    segment.write_bytes(b"")
    assert find_damage(segment, 0) is None


@pytest.mark.parametrize("is_live", [True, False])
def test_a_damaged_last_record_is_found_when_nobody_writes_any_more(segment, is_live):
    start = HEADER_BYTES + 49 * RECORD
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    with segment.open("rb") as holder:
        if is_live:  # it may be writing this record
            fcntl.flock(holder, fcntl.LOCK_EX)
        found = find_damage(segment, 0)
    assert found == (None if is_live else f"it cannot be read from byte {start:,} on")
