"""What becomes of journals: whose they are, how long they are kept, and what is counted again."""

from collections import Counter
from pathlib import Path

import pytest

from kurz.errors import SettingRefused
from kurz.jobs.clicks.journals import KEPT, OWNER, REMEMBERED, JournalFolder
from kurz.jobs.clicks.loader import Loader
from support.clicks import LinkCounting, MemoryClickStore, click, write_segment

OURS, THEIRS = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture
def journal(tmp_path):
    folder = tmp_path / "journal"
    folder.mkdir()
    return folder


@pytest.fixture
def store():
    return MemoryClickStore()


@pytest.fixture
def start(store, clock, journal):
    """Another process each time."""

    def start(folder: JournalFolder | None = None) -> Loader:
        folder = folder or JournalFolder(journal, OURS, is_own=True)
        return Loader([folder], store, LinkCounting(), clock)

    return start


def names(journal: Path, suffix: str) -> list[str]:
    return [path.stem for path in journal.glob(f"*{suffix}")]


async def test_a_counted_segment_is_kept_for_a_day(start, clock, journal):
    path = write_segment(journal, click(1))
    clock.advance(days=3)  # nobody was there to count it
    await start().load_all()
    clock.advance(seconds=KEPT.total_seconds() - 1)
    await start().load_all()
    assert path.exists()
    clock.advance(seconds=1)
    await start().load_all()
    assert not path.exists()


async def test_its_position_is_forgotten_long_after_it(start, store, clock, journal):
    path = write_segment(journal, click(1))
    await start().load_all()
    content = path.read_bytes()
    clock.advance(seconds=REMEMBERED.total_seconds() - 1)
    await start().load_all()
    assert not path.exists()
    path.write_bytes(content)  # somebody puts it back
    assert await start().load_all() == 0
    path.unlink(missing_ok=True)
    assert len(store.offsets) == 1
    clock.advance(seconds=1)
    await start().load_all()
    assert store.offsets == {}
    assert names(journal, ".counted") == []


async def test_no_position_is_forgotten_while_there_is_a_file(
    start, store, clock, journal, monkeypatch
):
    def refuse(path, **_):
        raise PermissionError(f"{path} stays")

    path = write_segment(journal, click(1))
    await start().load_all()
    clock.advance(days=30)
    with monkeypatch.context() as patch:
        patch.setattr("os.unlink", refuse)
        loader = start()
        assert await loader.load_all() == 0
        assert loader.counts()["clicks_load_errors"] > 0
    assert path.exists()
    assert len(store.offsets) == 1
    await start().load_all()
    assert store.offsets == {}


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_database_that_was_set_back_gets_its_clicks_again(
    start, store, clock, journal, is_restarted
):
    first, second = write_segment(journal, click(1), click(2)), write_segment(journal)
    loader = start()
    await loader.load_all()
    clock.advance(hours=23)
    second.write_bytes(second.read_bytes() + click(3))
    loader = start()
    await loader.load_all()
    store.offsets.clear()
    store.clicks.clear()
    if is_restarted:
        loader = start()
    loader._survey._check_at = 0.0
    await loader.load_all()
    assert store.clicks == Counter({1: 1, 2: 1, 3: 1})
    clock.advance(hours=23)  # from now on they are kept for a day anew
    await start().load_all()
    assert first.exists()
    assert second.exists()
    clock.advance(hours=1)
    await start().load_all()
    assert not first.exists()


async def test_a_segment_is_not_removed_if_the_database_knows_less(start, store, clock, journal):
    path = write_segment(journal, click(1))
    await start().load_all()
    store.offsets.clear()
    clock.advance(days=2)
    assert await start().load_all() == 1
    assert path.exists()


async def test_the_folder_gets_an_owner(start, journal):
    await start().load_all()
    assert (journal / OWNER).read_text() == f"{OURS}\n"
    assert [path.name for path in journal.iterdir()] == [OWNER]


async def test_journals_of_others_are_left_alone(start, store, clock, journal):
    path = write_segment(journal, click(1))
    (journal / OWNER).write_text(THEIRS)
    loader = start()
    assert await loader.load_all() == 0
    clock.advance(days=30)
    assert await start().load_all() == 0
    assert store.calls == []
    assert sorted(p.name for p in journal.iterdir()) == sorted([path.name, OWNER])
    assert loader.counts()["clicks_load_errors"] > 0
    (journal / OWNER).write_text(OURS)
    assert await loader.load_all() == 1


@pytest.mark.parametrize("owner", [THEIRS, "", "\N{SNOWMAN}"])
def test_who_asks_is_told_whose_they_are(journal, owner):
    (journal / OWNER).write_text(owner)
    with pytest.raises(SettingRefused, match="another installation"):
        JournalFolder(journal, OURS, is_own=True).check()


def test_journals_of_nobody_are_not_taken_from_elsewhere(journal):
    folder = JournalFolder(journal, OURS, is_own=False)
    with pytest.raises(SettingRefused, match=f"write {OURS} to a file named {OWNER}"):
        folder.check()
    (journal / OWNER).write_text(OURS)
    assert folder.check()


def test_bytes_are_no_owner(journal):
    (journal / OWNER).write_bytes(b"\xff\xfe")
    with pytest.raises(SettingRefused):
        JournalFolder(journal, OURS, is_own=True).check()
