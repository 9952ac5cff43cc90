"""The installation's secret: made once, closed to others, and no sample (threats T13, T40)."""

import os
import re
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from kurz.errors import SettingRefused
from kurz.people.keyring import Keyring
from kurz.settings.model import Settings
from kurz.settings.secret import keep_secret

GOOD = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data")


def test_a_secret_of_the_settings_is_used_as_it_is_and_nothing_is_written(tmp_path):
    settings = Settings(data_dir=tmp_path / "data", secret=GOOD)
    assert keep_secret(settings) == GOOD
    assert not (tmp_path / "data").exists()


def test_a_secret_is_made_once_and_found_again(settings):
    made = keep_secret(settings)
    assert re.fullmatch(r"[0-9a-f]{64}", made)
    assert [keep_secret(settings) for _ in range(3)] == [made] * 3


def test_two_installations_have_two_secrets(tmp_path):
    secrets = {keep_secret(Settings(data_dir=tmp_path / str(number))) for number in range(5)}
    assert len(secrets) == 5


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_file_is_closed_to_others_whatever_the_umask(settings, umask):
    before = os.umask(umask)
    try:
        keep_secret(settings)
    finally:
        os.umask(before)
    assert stat.S_IMODE(settings.secret_path.stat().st_mode) == 0o600
    assert stat.S_IMODE(settings.data_dir.stat().st_mode) == 0o700


def test_nothing_is_left_beside_the_file(settings):
    keep_secret(settings)
    keep_secret(settings)
    assert [path.name for path in settings.data_dir.iterdir()] == ["secret"]


def test_threads_that_start_at_once_find_the_same_secret(settings):
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: keep_secret(settings), range(64)))
    assert len(set(made)) == 1
    assert [path.name for path in settings.data_dir.iterdir()] == ["secret"]


def test_processes_that_start_at_once_find_the_same_secret(settings):
    program = (
        "import sys; from pathlib import Path; from kurz.settings.secret import keep_secret;"
        "from kurz.settings.model import Settings; sys.stdin.readline();"
        "print(keep_secret(Settings(data_dir=Path(sys.argv[1]))))"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(settings.data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    made = [process.communicate(timeout=60)[0].strip() for process in started]
    assert len(set(made)) == 1
    assert made[0] == keep_secret(settings)


WEAK_FILES = {
    "empty": b"",
    "only spaces": b" \n\t\n" * 20,
    "short": GOOD[:31].encode(),
    "half written": GOOD[:10].encode() + b"\n",
    "one letter": b"x" * 64,
    "a repeated word": b"horse-battery-1-" * 4,
    "a sample": b"change-me-change-me-change-me-change-me",
    "no text": b"\xff\xfe" * 40,
    "NUL": b"\0" * 64,
    "two lines": GOOD[:32].encode() + b"\n" + GOOD[32:].encode(),
}


@pytest.mark.parametrize("name", WEAK_FILES)
def test_a_file_that_holds_no_good_secret_is_refused_by_its_name(settings, name):
    settings.data_dir.mkdir()
    settings.secret_path.write_bytes(WEAK_FILES[name])
    with pytest.raises(SettingRefused) as refused:
        keep_secret(settings)
    assert str(settings.secret_path) in refused.value.detail
    held = WEAK_FILES[name].decode("latin-1").strip()
    assert not held or held not in refused.value.detail
    assert settings.secret_path.read_bytes() == WEAK_FILES[name]


def test_a_line_break_behind_the_secret_does_not_count(settings):
    settings.data_dir.mkdir()
    settings.secret_path.write_text(f"  {GOOD}\r\n\n")
    assert keep_secret(settings) == GOOD


def test_a_place_that_cannot_hold_the_file_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / "secret").mkdir(parents=True)
    for place in ("file", "folder"):
        settings = Settings(data_dir=tmp_path / place)
        with pytest.raises(SettingRefused) as refused:
            keep_secret(settings)
        assert str(settings.secret_path) in refused.value.detail


def test_keys_of_different_purposes_differ_and_stay():
    keyring = Keyring(GOOD)
    purposes = ("tokens", "receipts", "domains", "token", "tokens2", "")
    keys = {keyring.key(purpose) for purpose in purposes}
    assert len(keys) == len(purposes)
    assert all(len(key) == 32 for key in keys)
    assert Keyring(GOOD).key("tokens") == keyring.key("tokens")
    assert Keyring(GOOD[::-1]).key("tokens") != keyring.key("tokens")
    assert GOOD.encode() not in keys
    # The same for ever: another key would end every session and seal nobody's answers again.
    assert keyring.key("tokens").hex() == (
        "19cac8cbb4edf78055c86134e51a6428b353b3172906efe0b382014d4d38dc39"
    )
