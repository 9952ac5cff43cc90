"""The writer: what it returned for is in the files, and what is not there is counted."""

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from kurz.clicks.dropped import DroppedClicks
from kurz.clicks.header import HEADER_BYTES
from kurz.clicks.journal import RECOVERY_SECONDS, RETRY_SECONDS, Journal
from kurz.clicks.segments import find_header, is_held, list_segments
from support.journal_reader import read
from support.journal_writer import batch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "journal"


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Journal]]:
    """Starts journals whose thread looks often; they are closed after the test."""
    journals: list[Journal] = []

    def make(**options: float) -> Journal:
        journals.append(Journal(folder, **{"sync_seconds": 0.01, **options}))  # type: ignore[arg-type]
        journals[-1].start()
        return journals[-1]

    yield make
    for journal in journals:
        journal.close()


def numbers(folder: Path) -> list[int]:
    return sorted(click.link_id for path in list_segments(folder) for click, _ in read(path))


def wait_for(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_what_was_written_is_read_while_it_is_written(start, folder):
    journal = start()
    for first in range(0, 70, 7):
        journal.write(batch(first))
        assert numbers(folder) == list(range(first + 7))
    (path,) = list_segments(folder)
    assert (journal.records, journal.dropped, journal.segments) == (70, 0, 1)
    assert journal.bytes == path.stat().st_size
    header = find_header(path)
    assert header is not None
    assert header.id.hex() == path.stem
    assert abs(header.created_at_micros - time.time() * 1e6) < 60e6


def test_only_the_owner_can_read_the_files(start, folder):
    start().write(batch(0))
    (path,) = list_segments(folder)
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_records_of_a_turn_are_one_write_and_the_first_has_the_header_with_it(start, folder):
    journal = start()
    (path,) = list_segments(folder)
    assert path.stat().st_size == 0
    counts = Path("/proc/self/io")

    def writes() -> int:
        return int(counts.read_text().split("syscw: ")[1].split()[0])

    if not counts.exists():  # not Linux: what is stored is proved elsewhere
        return
    journal._stopping.set()
    journal._thread.join()
    before = writes()
    journal.write(batch(0))
    journal.write(batch(7))
    assert writes() - before == 2
    assert numbers(folder) == list(range(14))


def test_a_segment_is_held_until_it_is_closed(start, folder):
    journal = start()
    (path,) = list_segments(folder)
    assert is_held(path)
    journal.write(batch(0))
    assert is_held(path)
    journal.close()
    assert not is_held(path)
    assert numbers(folder) == list(range(7))


def test_a_segment_without_records_is_removed_at_the_end(start, folder):
    journal = start()
    assert len(list_segments(folder)) == 1
    journal.close()
    assert list(folder.iterdir()) == []


def test_what_comes_after_the_end_is_dropped(start, folder):
    journal = start()
    journal.write(batch(0))
    journal.close()
    journal.close()
    journal.write(batch(7))
    assert (journal.records, journal.dropped) == (7, 7)
    assert numbers(folder) == list(range(7))


def test_what_was_written_is_synced_soon(start):
    journal = start()
    for first in (0, 7):
        journal.write(batch(first))
        wait_for(lambda: journal._segment.synced == journal._segment.size)
    assert journal._segment.is_entered
    assert journal.sync_errors == 0


def test_a_full_segment_is_followed_by_another_one(start, folder):
    journal = start(max_bytes=1000)
    for first in range(0, 700, 7):
        journal.write(batch(first))
    sizes = [path.stat().st_size for path in list_segments(folder)]
    assert journal.segments == len(sizes) > 20
    assert max(sizes) < 1000 + 7 * 512
    assert numbers(folder) == list(range(700))
    wait_for(lambda: sum(map(is_held, list_segments(folder))) == 1)
    journal.close()
    assert not any(map(is_held, list_segments(folder)))
    assert journal.bytes == sum(path.stat().st_size for path in list_segments(folder))


def test_an_old_segment_is_followed_by_another_one_but_an_empty_one_is_not(start, folder):
    journal = start(max_seconds=0.05)
    time.sleep(0.15)
    assert journal.segments == 1
    journal.write(batch(0))
    wait_for(lambda: journal._segment.limit == 0)
    journal.write(batch(7))
    assert journal.segments == 2
    assert numbers(folder) == list(range(14))


@pytest.mark.parametrize("is_written", [True, False], ids=["written", "empty"])
def test_a_removed_folder_is_made_again(start, folder, is_written):
    journal = start()
    if is_written:
        journal.write(batch(0))
    lost = journal._segment
    shutil.rmtree(folder.parent)
    wait_for(lambda: lost.limit == 0)
    journal.write(batch(7))
    assert numbers(folder) == list(range(7, 14))
    wait_for(lambda: not journal._retired)
    assert (journal.segments, journal.dropped, journal.sync_errors) == (2, 0, 0)


def test_a_replaced_folder_gets_a_segment_of_its_own(start, folder, tmp_path):
    journal = start()
    journal.write(batch(0))
    lost = journal._segment
    folder.rename(tmp_path / "old")
    folder.mkdir()
    (folder / lost.path.name).write_bytes(b"somebody else's")
    wait_for(lambda: lost.limit == 0)
    journal.write(batch(7))
    assert numbers(tmp_path / "old") == list(range(7))
    (folder / lost.path.name).unlink()
    assert numbers(folder) == list(range(7, 14))


def test_a_folder_that_cannot_be_made_costs_clicks_but_no_redirect(start, folder):
    folder.parent.mkdir()
    folder.write_text("a file is in the way")
    with capture_logs() as logs:
        journal = start()
        for first in range(0, 70, 7):
            journal.write(batch(first))
        assert (journal.records, journal.dropped) == (0, 70)
        folder.unlink()
        time.sleep(RETRY_SECONDS * 1.5)
        journal.write(batch(70))
        time.sleep(RECOVERY_SECONDS)
        journal.write(batch(77))
    assert numbers(folder) == list(range(70, 84))
    assert (journal.records, journal.dropped) == (14, 70)
    assert [entry["log_level"] for entry in logs] == ["error", "warning"]


def test_a_file_is_tried_for_ten_times_a_second_at_most(start, folder):
    folder.parent.mkdir()
    folder.write_text("a file is in the way")
    journal = start()
    tries = 0
    retry_at = journal._retry_at
    until = time.monotonic() + RETRY_SECONDS * 5
    while time.monotonic() < until:
        journal.write(batch(0))
        tries += journal._retry_at != retry_at
        retry_at = journal._retry_at
    assert 1 <= tries <= 5


def test_a_segment_that_takes_nothing_and_cannot_be_cut_is_given_up(start, folder):
    """/dev/full says that no room is left, and has no length to cut."""
    journal = start()
    journal.write(batch(0))
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, journal._segment.fd)
    os.close(full)
    journal.write(batch(7))
    assert (journal.records, journal.dropped) == (7, 7)
    journal.write(batch(14))
    assert (journal.records, journal.dropped, journal.segments) == (14, 7, 2)
    assert numbers(folder) == [*range(7), *range(14, 21)]


def test_a_descriptor_that_is_gone_is_replaced(start, folder):
    journal = start()
    journal.write(batch(0))
    journal._stopping.set()
    journal._thread.join()
    os.close(journal._segment.fd)
    journal.write(batch(7))
    journal.write(batch(14))
    assert (journal.records, journal.dropped, journal.segments) == (14, 7, 2)
    assert numbers(folder) == [*range(7), *range(14, 21)]
    journal._retired.clear()  # its number may be another file's by now


def test_a_sync_that_fails_is_counted_and_told_once(start):
    journal = start()
    reader, writer = os.pipe()  # takes bytes, and cannot be synced
    os.dup2(writer, journal._segment.fd)
    with capture_logs() as logs:
        journal.write(batch(0))
        wait_for(lambda: journal.sync_errors >= 3)
    assert len(logs) == 1
    assert (journal.records, journal.dropped) == (7, 0)
    os.close(reader)
    os.close(writer)


def test_a_short_write_keeps_whole_records_and_cuts_the_torn_one(start, folder):
    """Whole ones may have been read by now, and must not be taken back."""
    journal = start()
    journal.write(batch(0))
    segment = journal._segment
    records = batch(7)
    stored = sum(map(len, records[:3])) + 20
    os.write(segment.fd, b"".join(records)[:stored])
    journal._fall_back(segment, records, stored, None)
    assert (journal.records, journal.dropped) == (10, 4)
    journal.write(batch(14))
    assert numbers(folder) == [*range(10), *range(14, 21)]
    (path,) = list_segments(folder)
    assert journal.bytes == path.stat().st_size


@pytest.mark.parametrize("stored", [0, 10, HEADER_BYTES, HEADER_BYTES + 50])
def test_a_short_first_write_leaves_an_empty_segment(start, folder, stored):
    journal = start()
    segment = journal._segment
    os.write(segment.fd, (segment.header + b"".join(batch(0)))[:stored])
    journal._fall_back(segment, batch(0), stored, None)
    assert (journal.records, journal.dropped, journal.bytes) == (0, 7, 0)
    journal.write(batch(7))
    assert numbers(folder) == list(range(7, 14))


def test_writes_go_on_while_files_are_synced_and_closed(start, folder):
    journal = start(max_bytes=5000, sync_seconds=0.0001)
    for first in range(0, 14_000, 7):
        journal.write(batch(first))
    journal.close()
    assert numbers(folder) == list(range(14_000))
    assert (journal.dropped, journal.sync_errors) == (0, 0)


def test_several_workers_write_side_by_side(start, folder):
    journals = [start(max_bytes=3000) for _ in range(4)]

    def work(number: int) -> None:
        for first in range(number * 700, (number + 1) * 700, 7):
            journals[number].write(batch(first))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(folder) == list(range(2800))


def test_no_descriptor_is_left_open(start):
    descriptors = Path("/dev/fd")
    before = len(list(descriptors.iterdir()))
    journal = start(max_bytes=1000)
    for first in range(0, 7000, 7):
        journal.write(batch(first))
    journal.close()
    assert len(list(descriptors.iterdir())) <= before


def test_nothing_is_recorded_below_the_floor_and_again_above_it(start, folder, monkeypatch):
    free = 1000
    real = os.statvfs
    monkeypatch.setattr(
        os, "statvfs", lambda path: SimpleNamespace(f_bavail=free, f_frsize=real(path).f_frsize)
    )
    block = real("/").f_frsize
    lost = DroppedClicks(folder.parent / "dropped-clicks")
    journal = start(min_free_bytes=100 * block, lost=lost)
    journal.write(batch(0))
    free = 99
    wait_for(lambda: journal.problem is not None)
    wait_for(lambda: journal._segment is None or journal._segment.limit == 0)
    journal.write(batch(7))
    assert (journal.records, journal.dropped) == (7, 7)
    wait_for(lambda: lost.read() == 7)
    free = 100
    wait_for(lambda: "free" not in (journal.problem or ""))
    time.sleep(RETRY_SECONDS)
    journal.write(batch(14))
    assert numbers(folder) == [*range(7), *range(14, 21)]
    other = DroppedClicks(folder.parent / "dropped-clicks")
    other.add(5)
    assert lost.read() == 12


NO_ROOM = 2**62  # bytes that should be free


def test_nobody_waits_for_a_worker_that_stands_still_while_it_counts_lost_clicks(
    start, folder, tmp_path
):
    folder.mkdir(parents=True)
    lost = DroppedClicks(tmp_path / "dropped-clicks")
    lost.prepare()
    journal = start(min_free_bytes=NO_ROOM, lost=lost)
    with (tmp_path / "dropped-clicks").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        began = time.monotonic()
        for first in range(0, 70, 7):
            journal.write(batch(first))
        assert time.monotonic() - began < 5
        assert not lost.add(1)
        assert (journal.dropped, lost.read()) == (70, 0)
    wait_for(lambda: lost.read() == 70)


def test_what_was_lost_last_is_counted_at_the_end(start, folder, tmp_path):
    folder.mkdir(parents=True)
    lost = DroppedClicks(tmp_path / "dropped-clicks")
    journal = start(min_free_bytes=NO_ROOM, lost=lost, sync_seconds=3600)
    journal.write(batch(0))
    assert lost.read() == 0
    journal.close()
    assert lost.read() == 7


def test_a_number_of_lost_clicks_that_cannot_be_read_is_0(tmp_path):
    assert DroppedClicks(tmp_path / "none").read() == 0
    assert DroppedClicks(tmp_path).read() == 0  # a folder can be opened, but not read
