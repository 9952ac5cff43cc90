"""A folder and a bucket keep the files of an archive alike."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kurz.errors import SettingRefused
from kurz.links.ending.archives import MAX_FILE_BYTES, ArchiveFiles, StoredFile
from kurz.links.errors import ArchiveFileBroken, ArchiveUnavailable
from kurz.outbound.folder import ArchiveFolder
from kurz.settings.model import Settings
from kurz.wiring.archive import open_files
from support.failpoints import Failpoints, Stopped, watch_files

DATA = bytes(range(256)) * 4096


@pytest.fixture
def files(archive_settings: dict[str, str]) -> ArchiveFiles:
    found = open_files(Settings(**archive_settings))  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.fixture
def folder(tmp_path: Path) -> ArchiveFolder:
    return ArchiveFolder(tmp_path / "archive")


async def test_what_is_written_is_there(files):
    await files.write("b.gz", DATA)
    await files.write("a.gz", b"")
    assert await files.read("b.gz") == DATA
    assert await files.read("a.gz") == b""
    assert await files.list() == [StoredFile("a.gz", 0), StoredFile("b.gz", len(DATA))]


async def test_what_is_not_there_is_none(files):
    assert await files.read("a.gz") is None
    assert await files.list() == []
    await files.write("b.gz", b"")
    assert await files.read("a.gz") is None


async def test_what_is_removed_is_gone(files):
    await files.write("a.gz", b"1")
    await files.write("b.gz", b"2")
    await files.remove("a.gz")
    await files.remove("a.gz")
    assert await files.list() == [StoredFile("b.gz", 1)]


async def test_a_file_is_whole_or_not_there(folder, tmp_path, monkeypatch):
    """Whatever it was doing when it was killed. What is left can be removed."""
    at = 0
    while True:
        failpoints = Failpoints(at)
        with monkeypatch.context() as patch:
            watch_files(patch, tmp_path, failpoints)
            with suppress(Stopped):
                await folder.write(f"{at}.gz", DATA)
        assert await folder.read(f"{at}.gz") in (None, DATA)
        await folder.remove(f"{at}.gz")
        assert await folder.list() == []
        if failpoints.is_over:
            break
        at += 1
    assert at >= 5  # the file, its bytes, its name, the folder's


async def test_a_full_disk_leaves_nothing(folder, tmp_path, monkeypatch):
    await folder.write("a.gz", DATA)

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(ArchiveUnavailable, match="No space left on device"):
            await folder.write("b.gz", DATA)
    assert [path.name for path in (tmp_path / "archive").iterdir()] == ["a.gz"]


async def test_files_are_their_owners_alone(folder, tmp_path):
    await folder.write("a.gz", DATA)
    path = tmp_path / "archive"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((path / "a.gz").stat().st_mode) == 0o600


async def test_only_files_are_read_and_listed(folder, tmp_path):
    """A link could lead anywhere, a pipe would be waited for."""
    await folder.write("a.gz", b"1")
    path = tmp_path / "archive"
    (path / "link.gz").symlink_to(path / "a.gz")
    os.mkfifo(path / "pipe.gz")
    with (path / "large.gz").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)  # takes no room on the disk
    assert [it.name for it in await folder.list()] == ["a.gz", "large.gz"]
    for name in "link.gz", "pipe.gz", "large.gz":
        with pytest.raises(ArchiveFileBroken, match=name):
            await folder.read(name)


async def test_a_file_is_not_written_through_a_link(folder, tmp_path):
    path = tmp_path / "archive"
    path.mkdir()
    (tmp_path / "other").write_bytes(b"mine")
    (path / "a.gz").symlink_to(tmp_path / "other")
    await folder.write("a.gz", b"1")
    assert await folder.read("a.gz") == b"1"
    (path / "b.gz.part").symlink_to(tmp_path / "other")
    with pytest.raises(ArchiveUnavailable):
        await folder.write("b.gz", b"1")
    assert (tmp_path / "other").read_bytes() == b"mine"


async def test_nothing_is_written_where_a_disk_is_missing(tmp_path):
    folder = ArchiveFolder(tmp_path / "disk" / "archive")
    with pytest.raises(ArchiveUnavailable, match="No such file or directory"):
        await folder.write("a.gz", DATA)
    assert not (tmp_path / "disk").exists()


@pytest.mark.parametrize(
    "changes",
    [{"archive": "s3://there-is-no-such-bucket"}, {"archive_s3_endpoint": "http://127.0.0.1:9"}],
    ids=["no bucket", "nobody answers"],
)
async def test_a_bucket_that_cannot_be_used(s3, changes):
    given: dict[str, Any] = {
        "archive": "s3://bucket",
        "archive_s3_endpoint": s3.url,
        "archive_s3_key_id": "anybody",
        "archive_s3_secret_key": "very-secret",
        **changes,
    }
    files = open_files(Settings(**given))
    assert files is not None
    for work in files.write("a.gz", b""), files.list(), files.check():
        with pytest.raises(ArchiveUnavailable) as raised:
            await work
        assert "secret" not in raised.value.detail
        assert "\n" not in raised.value.detail
        assert "<" not in raised.value.detail


async def test_whether_it_can_be_used_is_seen_without_writing(files):
    await files.check()
    assert await files.list() == []
    await files.write("a.gz", b"1")
    await files.check()


async def test_a_folder_that_cannot_be_used_is_seen(tmp_path):
    (tmp_path / "file").write_text("")
    for path, reason in (
        (tmp_path / "disk" / "archive", "No such file or directory"),
        (tmp_path / "file", "Not a directory"),
        (tmp_path / "file" / "archive", "Not a directory"),
    ):
        with pytest.raises(ArchiveUnavailable, match=reason):
            await ArchiveFolder(path).check()


BUCKET: dict[str, Any] = {"archive": "s3://bucket"}


@pytest.mark.parametrize("name", ["archive_s3_key_id", "archive_s3_secret_key"])
def test_half_a_key_is_refused(name):
    with pytest.raises(SettingRefused, match="or neither") as raised:
        open_files(Settings(**(BUCKET | {name: "very-secret"})))
    assert "very-secret" not in raised.value.detail


def test_what_the_library_refuses_is_one_sentence(monkeypatch):
    """Here half a key, of the machine's own."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    with pytest.raises(SettingRefused, match=r"s3://bucket.*Missing SecretAccessKey") as raised:
        open_files(Settings(**BUCKET))
    assert "\n" not in raised.value.detail


async def test_no_archive_is_none():
    assert open_files(Settings()) is None
