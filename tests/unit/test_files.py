"""Output files: whole or not there, and nobody else's is touched."""

import os
import stat

import pytest

from kurz.files import written_whole


def test_two_writers_of_one_file_both_write_all_of_theirs(tmp_path):
    path = tmp_path / "out.csv"
    with written_whole(path) as first:
        first.write(b"first")
        with written_whole(path) as second:
            second.write(b"half")
            assert not path.exists()
            second.write(b" of it")
        assert path.read_bytes() == b"half of it"
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_looks_unfinished_is_left_alone(tmp_path):
    other = tmp_path / "out.csv.part"
    other.write_bytes(b"of somebody else")
    with written_whole(tmp_path / "out.csv") as file:
        file.write(b"mine")
    assert other.read_bytes() == b"of somebody else"


@pytest.mark.parametrize("keeps_partial", [False, True])
def test_a_writer_that_fails_leaves_no_unfinished_file(tmp_path, keeps_partial):
    path = tmp_path / "out.csv"

    def fail() -> None:
        with written_whole(path, keeps_partial=keeps_partial) as file:
            file.write(b"so far")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [it.read_bytes() for it in tmp_path.iterdir()] == [b"so far"] * keeps_partial


def test_the_name_is_on_disk_too(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def record(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append((is_folder, (tmp_path / "out.csv").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    with written_whole(tmp_path / "out.csv") as file:
        file.write(b"all of it")
    assert synced == [(False, False), (True, True)]
