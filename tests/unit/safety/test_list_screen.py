"""What a screen says while lists change, cannot be read, or cannot be kept."""

import os
from pathlib import Path

import pytest

from kurz.jobs.list_watch import RETRY_SECONDS, ListWatch
from kurz.links.errors import DestinationRefused
from kurz.safety.list_provider import BELIEF_SECONDS, ListProvider
from kurz.safety.lists_file import FILE_NAME, ListRole, Source, Sources, open_lists
from kurz.safety.screening import ListScreen, ScreenVerdict

BAD, GOOD = "https://bad.example/x", "https://good.example/x"


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Banned:
    hosts: frozenset[str] = frozenset()

    def get(self) -> frozenset[str]:
        return self.hosts


@pytest.fixture
def banned() -> Banned:
    return Banned()


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def block(tmp_path: Path) -> Path:
    path = tmp_path / "block.txt"
    path.write_text("bad.example\n")
    return path


@pytest.fixture
def allow(tmp_path: Path) -> Path:
    path = tmp_path / "allow.txt"
    path.write_text("fine.bad.example\n")
    return path


@pytest.fixture
def provider(block: Path, allow: Path, tmp_path: Path, seconds: Seconds) -> ListProvider:
    sources = Sources((Source(ListRole.BLOCK, block), Source(ListRole.ALLOW, allow)))
    return ListProvider(sources, tmp_path / "screening", seconds)


@pytest.fixture
def screen(provider: ListProvider, banned: Banned) -> ListScreen:
    return ListScreen(provider, banned)


def another(provider: ListProvider, tmp_path: Path, seconds: Seconds) -> ListScreen:
    """As another process has it."""
    return ListScreen(ListProvider(provider.sources, tmp_path / "screening", seconds), Banned())


def test_allowed_is_more_than_blocked(screen):
    assert screen.admit(GOOD)
    assert screen.admit("https://fine.bad.example/")
    with pytest.raises(DestinationRefused) as refusal:
        screen.admit(BAD)
    assert "block.txt" not in refusal.value.detail
    assert "bad.example" not in refusal.value.detail
    assert (screen.refused, screen.held) == (1, 0)


def test_without_lists_everything_is_admitted(tmp_path):
    screen = ListScreen(ListProvider(Sources(), tmp_path / "nowhere"), Banned())
    assert screen.admit(BAD)
    assert screen.is_sure
    assert not screen.has_rules
    assert not (tmp_path / "nowhere").exists()


def test_banned_hosts_are_refused_with_all_below_them_whatever_is_allowed(screen, banned):
    banned.hosts = frozenset({"good.example", "fine.bad.example"})
    assert screen.judge("https://a.b.good.example:81/") is ScreenVerdict.BANNED
    assert screen.judge("https://fine.bad.example/") is ScreenVerdict.BANNED
    assert screen.judge("https://notgood.example/") is ScreenVerdict.ADMITTED
    with pytest.raises(DestinationRefused):
        screen.admit(GOOD)
    banned.hosts = frozenset()
    assert screen.admit(GOOD)


def test_other_shorteners_are_refused_where_that_is_wanted(tmp_path, allow):
    allow.write_text("t.co\n")
    sources = Sources((Source(ListRole.ALLOW, allow),), has_shorteners=True)
    screen = ListScreen(ListProvider(sources, tmp_path / "screening"), Banned())
    assert screen.judge("https://bit.ly/abc") is ScreenVerdict.LISTED
    assert screen.judge("https://www.tinyurl.com/abc") is ScreenVerdict.LISTED
    assert screen.judge("https://t.co/abc") is ScreenVerdict.ADMITTED
    assert screen.judge("https://rabbit.ly/") is ScreenVerdict.ADMITTED
    lists = screen.provider.lists
    assert lists is not None
    assert lists.hosts > 150


@pytest.mark.parametrize("trouble", ["gone", "folder", "binary", "page", "empty", "comments"])
def test_what_an_unreadable_blocklist_may_name_is_held(screen, provider, block, tmp_path, trouble):
    other = tmp_path / "other.txt"
    other.write_text("other.example\n")
    block.unlink()
    if trouble == "folder":
        block.mkdir()
    if trouble == "binary":
        block.write_bytes(b"bad.example\n\0\n")
    if trouble == "page":
        block.write_text("<html>\n<body>\nbad.example\n</body>\n")
    if trouble == "empty":
        block.write_text("")
    if trouble == "comments":
        block.write_text("# Title: a list\n\n127.0.0.1 localhost\n")
    sources = Sources((*provider.sources.lists, Source(ListRole.BLOCK, other)))
    screen = ListScreen(ListProvider(sources, tmp_path / "screening"), Banned())
    assert screen.judge(BAD) is ScreenVerdict.UNKNOWN
    assert screen.judge(GOOD) is ScreenVerdict.UNKNOWN
    assert not screen.admit(GOOD)
    assert screen.held == 1
    assert screen.judge("https://other.example/") is ScreenVerdict.LISTED
    assert screen.judge("https://fine.bad.example/") is ScreenVerdict.ADMITTED
    assert not screen.is_sure


def test_what_an_unreadable_allowlist_may_allow_is_held(screen, allow):
    allow.unlink()
    assert screen.judge(BAD) is ScreenVerdict.UNKNOWN
    assert screen.judge(GOOD) is ScreenVerdict.ADMITTED
    assert not screen.is_sure


def test_an_allowlist_may_be_empty(screen, allow):
    allow.write_text("# nothing yet\n")
    assert screen.judge(GOOD) is ScreenVerdict.ADMITTED
    assert screen.is_sure


def test_a_process_opens_what_another_has_compiled(
    screen, provider, tmp_path, seconds, monkeypatch
):
    provider.prepare()
    assert screen.admit(GOOD)

    def nobody_compiles(_: object) -> bytes:
        raise AssertionError

    monkeypatch.setattr("kurz.safety.list_provider.compile_lists", nobody_compiles)
    other = another(provider, tmp_path, seconds)
    assert other.judge(BAD) is ScreenVerdict.LISTED
    assert other.digest == screen.digest


def test_a_damaged_file_is_made_again(screen, provider, tmp_path, seconds):
    provider.prepare()
    file = tmp_path / "screening" / FILE_NAME
    file.write_bytes(file.read_bytes()[:-3])
    other = another(provider, tmp_path, seconds)
    assert other.judge(BAD) is ScreenVerdict.LISTED
    other.provider.prepare()
    assert open_lists(tmp_path / "screening").hosts == 2


def test_a_worker_takes_newer_lists_and_doubts_old_ones(screen, provider, block, tmp_path, seconds):
    assert screen.judge(BAD) is ScreenVerdict.LISTED
    block.write_text("good.example\n")
    provider.refresh()
    assert screen.judge(BAD) is ScreenVerdict.LISTED  # it may be being written
    seconds.now += BELIEF_SECONDS
    provider.refresh()
    assert screen.judge(GOOD) is ScreenVerdict.UNKNOWN
    assert screen.judge(BAD) is ScreenVerdict.LISTED
    another(provider, tmp_path, seconds).provider.compile()
    provider.refresh()
    assert screen.judge(GOOD) is ScreenVerdict.LISTED
    assert screen.judge(BAD) is ScreenVerdict.ADMITTED


def test_files_are_compiled_when_they_have_come_to_rest(screen, provider, block):
    watch = ListWatch(provider)
    watch.look()
    watch.look()
    first = screen.digest
    block.write_text("bad.example\ngood.ex")
    watch.look()
    block.write_text("bad.example\ngood.example\n")
    watch.look()
    assert screen.digest == first
    watch.look()
    assert screen.judge(GOOD) is ScreenVerdict.LISTED


def test_lists_that_cannot_be_kept_are_doubted_by_others_and_tried_again(
    screen, provider, block, tmp_path, seconds
):
    """As on a disk that is full: here a folder stands where the file has to go."""
    provider.prepare()
    worker = another(provider, tmp_path, seconds)
    assert worker.judge(GOOD) is ScreenVerdict.ADMITTED
    in_the_way = tmp_path / "screening" / FILE_NAME
    in_the_way.unlink()
    in_the_way.mkdir()
    block.write_text("good.example\n")
    watch = ListWatch(provider, monotonic=seconds)
    watch.look()
    watch.look()
    assert screen.judge(GOOD) is ScreenVerdict.LISTED
    assert not provider.is_stored
    assert [*(tmp_path / "screening").iterdir()] == [in_the_way]
    worker.provider.refresh()
    seconds.now += BELIEF_SECONDS
    worker.provider.refresh()
    assert worker.judge(GOOD) is ScreenVerdict.UNKNOWN
    in_the_way.rmdir()
    seconds.now += RETRY_SECONDS
    watch.look()
    assert provider.is_stored
    worker.provider.refresh()
    assert worker.judge(GOOD) is ScreenVerdict.LISTED


def test_a_list_that_is_readable_again_is_read_again(screen, provider, block, tmp_path):
    block.rename(tmp_path / "elsewhere")
    watch = ListWatch(provider)
    watch.look()
    watch.look()
    assert screen.judge(GOOD) is ScreenVerdict.UNKNOWN
    (tmp_path / "elsewhere").rename(block)
    watch.look()
    watch.look()
    assert screen.judge(GOOD) is ScreenVerdict.ADMITTED
    assert screen.is_sure


def test_others_settings_leave_those_who_serve_alone(screen, provider, block, tmp_path, seconds):
    """As when somebody edits the settings and asks the doctor before the server is told."""
    provider.prepare()
    folder = tmp_path / "screening"
    before = (folder / FILE_NAME).read_bytes()
    sources = Sources((Source(ListRole.BLOCK, block),), has_shorteners=True)
    assert ListScreen(ListProvider(sources, folder), Banned()).judge("https://bit.ly/a") is (
        ScreenVerdict.LISTED
    )
    assert (folder / FILE_NAME).read_bytes() == before


@pytest.mark.parametrize("trouble", ["foreign", "gone", "damaged"])
def test_a_file_that_is_not_theirs_is_made_again(
    screen, provider, block, tmp_path, seconds, trouble
):
    provider.prepare()
    worker = another(provider, tmp_path, seconds)
    assert worker.judge(BAD) is ScreenVerdict.LISTED
    watch, file = ListWatch(provider, monotonic=seconds), tmp_path / "screening" / FILE_NAME
    if trouble == "foreign":
        other = tmp_path / "other.txt"
        other.write_text("good.example\n")
        ListProvider(Sources((Source(ListRole.BLOCK, other),)), file.parent).prepare()
    else:
        file.unlink()
    if trouble == "damaged":
        file.write_bytes(b"what is this")
    for _ in range(3):
        worker.provider.refresh()
        seconds.now += BELIEF_SECONDS
    assert worker.judge(BAD) is ScreenVerdict.LISTED
    assert worker.judge(GOOD) is ScreenVerdict.ADMITTED
    watch.look()
    assert open_lists(file.parent).is_of(provider.sources)
    assert provider.is_stored


def test_another_version_compiles_them_again(provider, tmp_path, seconds, monkeypatch):
    """Its list of shorteners may be another one."""
    provider.prepare()
    assert not provider.is_outdated
    monkeypatch.setattr("kurz.safety.lists_file.__version__", "99.0")
    later = ListProvider(provider.sources, tmp_path / "screening", seconds)
    later.refresh()
    assert later.is_outdated
    later.prepare()
    assert open_lists(tmp_path / "screening").is_of(provider.sources)


def test_drafts_that_were_left_behind_are_removed(provider, tmp_path):
    folder = tmp_path / "screening"
    folder.mkdir()
    old, new = folder / f"{FILE_NAME}.1.new", folder / f"{FILE_NAME}.2.new"
    for draft in (old, new):
        draft.write_bytes(b"")
    os.utime(old, (0, 0))
    provider.compile()
    assert {*folder.iterdir()} == {new, folder / FILE_NAME}
