"""Bits of the database file flip. Each link that then leads elsewhere is named, or SQLite itself
says that the file is damaged."""

import random
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kurz.links.model import Draft
from kurz.storage.engine.sqlite import default_driver
from kurz.wiring.core import Kurz
from kurz.wiring.integrity import DeepCheck

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

LINKS = 1200
# As the read path looks them up.
LOOKUP = (
    "SELECT coalesce(location, original_url) FROM links WHERE workspace_id = 0 AND short_code = ?"
)
PAGE = 4096
ROUNDS = {30: 12, 2: 12}  # flipped bits: rounds


@pytest.fixture
async def ledger(kurz) -> dict[str, str]:
    """What was stored, by code. The file has it all."""
    drafts = [
        Draft(original_url=f"https://example.com/{number:04}", owner_id=5)
        for number in range(LINKS)
    ]
    made = [it.link for it in await kurz.links.create_many(drafts)]
    with closing(default_driver.connect(kurz.settings.database_path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return {link.short_code: link.location for link in made}


@pytest.fixture
def copy(kurz: Kurz, tmp_path: Path) -> Callable[[int], Path]:
    """Makes a new copy each time."""

    def make(number: int) -> Path:
        folder = tmp_path / f"copy-{number}"
        folder.mkdir()
        shutil.copy(kurz.settings.database_path, folder)
        return folder / kurz.settings.database_path.name

    return make


def lost(path: Path, ledger: Mapping[str, str]) -> tuple[set[str], int]:
    """The codes that lead elsewhere, and how many cannot be looked up."""
    wrong, failed = set(), 0
    with closing(default_driver.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        for code, url in ledger.items():
            try:
                rows = connection.execute(LOOKUP, (code,)).fetchall()
            except (default_driver.Error, UnicodeDecodeError):
                failed += 1
                continue
            if not rows:
                failed += 1
            elif rows[0][0] != url:
                wrong.add(code)
    return wrong, failed


def checked(kurz, path: Path):
    return DeepCheck(replace(kurz.settings, data_dir=path.parent), lambda *_: None).database()


def test_a_file_without_flipped_bits_is_sound(kurz, ledger, copy):
    path = copy(0)
    assert lost(path, ledger) == (set(), 0)
    found = checked(kurz, path)
    assert found.problems == []
    assert (found.links.links, found.links.unknown, found.links.is_good) == (LINKS, 0, True)


@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_in_a_url_is_found_though_sqlite_finds_nothing(kurz, ledger, copy, bit):
    """The canonical URL is stored apart: only what a visitor gets is flipped."""
    path, code = copy(0), random.Random(bit).choice([*ledger])
    stored = f"{code}random{ledger[code]}".encode()
    data = path.read_bytes()
    at = data.index(stored) + len(stored) - 1
    path.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
    wrong, failed = lost(path, ledger)
    assert len(wrong) + failed == 1
    found = checked(kurz, path)
    assert found.problems == []
    assert [it.short_code for it in found.links.named] == [code]


@pytest.mark.parametrize("bits", ROUNDS)
def test_no_link_leads_elsewhere_unnoticed(kurz, ledger, copy, bits):
    for number in range(ROUNDS[bits]):
        chosen, path = random.Random(f"{bits} {number}"), copy(number)
        data = bytearray(path.read_bytes())
        for _ in range(bits):
            at = chosen.randrange(len(data) * 8)
            data[at // 8] ^= 1 << at % 8
        path.write_bytes(data)
        try:
            wrong, failed = lost(path, ledger)
        except (default_driver.Error, UnicodeDecodeError):
            wrong, failed = set(), LINKS
        found = checked(kurz, path)
        named = set() if found.links is None else {it.short_code for it in found.links.named}
        assert found.problems or wrong <= named, (bits, number)
        assert found.problems or named or not failed, (bits, number)
        shutil.rmtree(path.parent)


def test_a_damaged_page_does_not_hide_the_links_behind_it(kurz, ledger, copy):
    path = copy(0)
    first, *_, last = ledger
    data = bytearray(path.read_bytes())
    page = data.index(f"{first}random".encode()) // PAGE * PAGE
    data[page : page + 8] = bytes(8)
    url = f"{last}random{ledger[last]}".encode()
    data[data.index(url) + len(url) - 1] ^= 1
    path.write_bytes(data)
    found = checked(kurz, path)
    assert found.problems
    assert found.links.gaps == 1
    assert 0 < LINKS - found.links.links < 50  # of one page
    assert [it.short_code for it in found.links.named] == [last]
