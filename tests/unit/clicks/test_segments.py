"""Reading segments: whole records, whatever happened to the file."""

import itertools
import os
import random
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kurz.clicks.header import HEADER_BYTES, Header, path_of
from kurz.clicks.record import MAX_RECORD_BYTES, UNKNOWN_VISITOR, encode, link_tag_of, visit_of
from kurz.clicks.segments import Corrupt, find_header, is_held, list_segments, quarantine
from support.journal_reader import Click, read

ID = bytes(range(16))
HEADER = Header(ID, 1_700_000_000_000_000).encode()
# One folder serves all examples of a property: each writes its own file there.
one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def record(number: int, agent: int = 20) -> bytes:
    visit = visit_of(
        network=b"abc",
        visitor=UNKNOWN_VISITOR,
        flags=0,
        user_agent=random.Random(number).randbytes(agent),
        referrer=b"https://a.example",
        language=b"de",
    )
    return encode(1_700_000_000_000_000 + number, 12_300, link_tag_of(number, 1), visit)


def segment(folder: Path, data: bytes, header: bytes = HEADER) -> Path:
    path = path_of(folder, ID)
    path.write_bytes(header + data)
    return path


def numbers(path: Path, offset: int = 0) -> list[int]:
    return [click.link_id for click, _ in read(path, offset)]


def read_all(path: Path) -> tuple[list[Click], int, int]:
    """As a loader does it: the clicks, where it ended, and how many bytes were skipped."""
    found: list[tuple[Click, int]] = []
    offset = skipped = 0
    for _ in range(100):
        try:
            found.extend(read(path, offset))
        except Corrupt as corrupt:
            damage = quarantine(path, corrupt.offset)
            offset, skipped = damage.next_offset, skipped + damage.skipped
        else:
            return [click for click, _ in found], max([offset, *(end for _, end in found)]), skipped
    raise AssertionError("there is no end to the damage")


def test_records_are_read_in_order_with_the_offsets_behind_them(tmp_path):
    records = [record(number, agent=number) for number in range(200)]
    path = segment(tmp_path, b"".join(records))
    ends = [end for _, end in read(path)]
    assert numbers(path) == list(range(200))
    assert ends[-1] == path.stat().st_size
    for number, end in enumerate(ends):
        assert numbers(path, end) == list(range(number + 1, 200))


def test_a_segment_of_many_chunks_is_read_whole(tmp_path):
    path = segment(tmp_path, b"".join(record(number, agent=256) for number in range(8000)))
    assert path.stat().st_size > 2 * 1024 * 1024
    assert numbers(path) == list(range(8000))


def test_a_segment_cut_at_any_byte_is_a_prefix_of_its_records(tmp_path):
    records = [record(number) for number in range(4)]
    whole = HEADER + b"".join(records)
    ends = [HEADER_BYTES + sum(map(len, records[:count])) for count in range(5)]
    path = segment(tmp_path, b"")
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        assert numbers(path) == list(range(sum(end <= size for end in ends[1:])))


def test_a_torn_end_is_read_when_it_has_become_whole(tmp_path):
    first, second = record(1), record(2)
    path = segment(tmp_path, first + second[:30])
    ((click, offset),) = read(path)
    assert click.link_id == 1
    with path.open("ab") as file:
        file.write(second[30:])
    assert numbers(path, offset) == [2]


@pytest.mark.parametrize("readings", range(1, 5))
def test_a_write_that_ends_between_any_two_readings_costs_no_click(tmp_path, monkeypatch, readings):
    records = [record(number) for number in range(40)]
    path = segment(tmp_path, records[0] + records[1][:30])
    pread, count = os.pread, itertools.count(1)

    def pread_while_written(*args: int) -> bytes:
        data = pread(*args)
        if next(count) == readings:
            with path.open("ab") as file:
                file.write(records[1][30:] + b"".join(records[2:]))
        return data

    monkeypatch.setattr(os, "pread", pread_while_written)
    seen = list(read(path))
    offset = seen[-1][1]
    assert [click.link_id for click, _ in seen] + numbers(path, offset) == list(range(40))


def test_a_record_that_has_come_where_damage_was_seen_is_not_skipped(tmp_path):
    """What was seen may have been half of one write and half of another."""
    path = segment(tmp_path, record(1) + record(2) + record(3))
    offset = HEADER_BYTES + len(record(1))
    damage = quarantine(path, offset)
    assert (damage.next_offset, damage.skipped) == (offset, 0)
    assert not damage.kept.exists()


def test_a_flip_of_any_byte_never_makes_a_wrong_click(tmp_path):
    records = [record(number) for number in range(6)]
    whole = bytearray(HEADER + b"".join(records))
    path = segment(tmp_path, b"")
    path.write_bytes(whole)
    right, _, _ = read_all(path)
    for place in range(len(whole)):
        whole[place] ^= 1 << (place % 8)
        path.write_bytes(whole)
        found, offset, skipped = read_all(path)
        whole[place] ^= 1 << (place % 8)
        assert set(found) <= set(right)
        lost = 0 if place < HEADER_BYTES else 1
        assert len(found) == len(right) - lost
        if place < HEADER_BYTES:
            assert (offset, skipped) == (len(whole), HEADER_BYTES)
        elif place < len(whole) - len(records[-1]):
            assert (offset, skipped) == (len(whole), len(records[0]))
        (tmp_path / f"{ID.hex()}.corrupt").unlink(missing_ok=True)


@one_folder
@given(st.data())
def test_random_bytes_anywhere_cost_only_what_they_touch(tmp_path, data):
    records = [record(number, agent=number * 7 % 256) for number in range(12)]
    whole = bytearray(HEADER + b"".join(records))
    start = data.draw(st.integers(HEADER_BYTES, len(whole) - 1))
    junk = data.draw(st.binary(min_size=1, max_size=600))
    inserts = data.draw(st.booleans())
    whole[start : start if inserts else start + len(junk)] = junk
    path = segment(tmp_path, b"")
    path.write_bytes(whole)
    found, _, _ = read_all(path)
    (tmp_path / f"{ID.hex()}.corrupt").unlink(missing_ok=True)
    begins = [HEADER_BYTES + sum(map(len, records[:count])) for count in range(13)]
    reach = start if inserts else start + len(junk)
    untouched = [n for n in range(12) if begins[n + 1] <= start or begins[n] >= reach]
    assert {click.link_id for click in found} >= set(untouched)
    assert [click.link_id for click in found] == sorted({click.link_id for click in found})
    assert {click.link_id for click in found} <= set(range(12))


def test_damage_in_the_middle_is_kept_aside_and_read_past(tmp_path):
    records = [record(number) for number in range(10)]
    whole = bytearray(b"".join(records))
    size = len(records[0])
    whole[3 * size + 8] ^= 0xFF
    whole[7 * size + 8] ^= 0xFF
    path = segment(tmp_path, bytes(whole))
    seen: list[int] = []
    with pytest.raises(Corrupt) as caught:
        seen.extend(click.link_id for click, _ in read(path))
    found, offset, skipped = read_all(path)
    assert caught.value.offset == HEADER_BYTES + 3 * size
    assert [click.link_id for click in found] == [0, 1, 2, 4, 5, 6, 8, 9]
    assert (offset, skipped) == (HEADER_BYTES + len(whole), 2 * size)
    kept = tmp_path / f"{ID.hex()}.corrupt"
    path.unlink()
    assert kept.read_bytes() == HEADER + bytes(whole)
    assert list_segments(tmp_path) == []


def test_zeros_that_a_loss_of_power_left_are_no_clicks(tmp_path):
    path = segment(tmp_path, record(1) + bytes(5000))
    found, offset, skipped = read_all(path)
    assert [click.link_id for click in found] == [1]
    assert (offset, skipped) == (path.stat().st_size, 5000)
    path = segment(tmp_path, record(1) + bytes(100))
    assert numbers(path) == [1]


def test_damage_of_many_chunks_is_skipped(tmp_path):
    junk = random.Random(1).randbytes(2_500_000)
    for between in (junk, bytes(2_500_000)):
        path = segment(tmp_path, record(1) + between + record(2) + record(3))
        found, _, skipped = read_all(path)
        assert [click.link_id for click in found] == [1, 2, 3]
        assert skipped == len(between)


def test_a_record_over_the_edge_of_a_chunk_is_found_behind_damage(tmp_path):
    for shift in range(0, 400, 37):
        between = b"\xff" * (1024 * 1024 - shift)
        path = segment(tmp_path, between + record(2))
        found, _, skipped = read_all(path)
        assert [click.link_id for click in found] == [2]
        assert skipped == len(between)


def test_a_record_made_of_bytes_that_a_header_can_have_is_not_taken_for_one(tmp_path):
    """A visitor can compute a checksum, but cannot send the zero byte that ends every instant."""
    visit = record(1)[30:]
    forged = encode(2**56, 1, link_tag_of(9, 9), visit)
    path = segment(tmp_path, record(1) + forged + record(2))
    assert [click.link_id for click in read_all(path)[0]] == [1, 2]


def test_a_wrong_length_near_the_end_does_not_hide_what_follows(tmp_path):
    middle = bytearray(record(2))
    middle[0:2] = (MAX_RECORD_BYTES - 6).to_bytes(2, "little")  # reaches behind the end
    path = segment(tmp_path, record(1) + bytes(middle) + record(3))
    assert [click.link_id for click in read_all(path)[0]] == [1, 3]


def test_an_empty_or_torn_header_is_a_segment_without_clicks(tmp_path):
    path = segment(tmp_path, b"")
    for size in range(HEADER_BYTES):
        path.write_bytes(HEADER[:size])
        assert numbers(path) == []
        assert find_header(path) is None
    path.write_bytes(HEADER)
    assert find_header(path) == Header(ID, 1_700_000_000_000_000)


def test_a_damaged_header_costs_no_click(tmp_path):
    path = segment(tmp_path, record(1) + record(2), header=b"x" * HEADER_BYTES)
    with pytest.raises(Corrupt):
        find_header(path)
    found, _, skipped = read_all(path)
    assert [click.link_id for click in found] == [1, 2]
    assert skipped == HEADER_BYTES


@one_folder
@given(st.binary(max_size=3000), st.integers(0, 4000))
def test_any_file_can_be_read_from_any_offset(tmp_path, data, offset):
    path = segment(tmp_path, data, header=b"")
    path.write_bytes(data)
    with suppress(Corrupt):
        assert list(read(path, offset)) == []
    assert read_all(path)[0] == []
    (tmp_path / f"{ID.hex()}.corrupt").unlink(missing_ok=True)


def test_only_segments_are_listed(tmp_path):
    for name in (
        "notes.clicks",
        f"{ID.hex()}.new",
        f"{ID.hex()}.corrupt",
        f"{ID.hex().upper()}.clicks",
    ):
        (tmp_path / name).touch()
    path = segment(tmp_path, b"")
    assert list_segments(tmp_path) == [path]
    assert list_segments(tmp_path / "missing") == []


def test_nobody_holds_a_file_that_is_only_read(tmp_path):
    path = segment(tmp_path, record(1))
    fd = os.open(path, os.O_RDONLY)
    assert not is_held(path)
    os.close(fd)
