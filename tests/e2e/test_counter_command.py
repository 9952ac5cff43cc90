"""`kurz admin counter`: a series of codes that another system began goes on here."""

import asyncio
import hashlib

import pytest

from kurz.wiring.engine import prepare
from support.engines import without_redis
from support.terminal import Terminal

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
SALT = b"the secret salt"
START = 4711

engine = without_redis  # which has no part in it


def code_of(number: int) -> str:
    """As the other system computes it."""
    left = (number + int.from_bytes(hashlib.sha256(SALT).digest()[:8], "big")) % 62**7
    code = ""
    for _ in range(7):
        left, digit = divmod(left, 62)
        code = ALPHABET[digit] + code
    return code


@pytest.fixture
def terminal(settings, environment):
    asyncio.run(prepare(settings, upgrades_postgres=False))
    return Terminal(
        environment | {"KURZ_DATA_DIR": str(settings.data_dir), "KURZ_COUNTER_SCRAMBLE": "offset"}
    )


def test_a_series_goes_on_where_it_stopped_and_is_set_before_the_first_code_only(
    terminal, tmp_path
):
    file = tmp_path / "salt"
    file.write_bytes(SALT + b"\r\n")
    wrong = terminal.run("admin", "counter", "--start", "99", "--salt-file", str(file))
    assert (wrong.returncode, wrong.stdout) == (0, f"The next counter code is {code_of(99)}.\n")
    again = terminal.json("admin", "counter", "--start", str(START), "--salt-file", str(file))
    assert again == {"start": START, "next_code": code_of(START)}

    made = [
        terminal.json("create", f"https://example.com/{n}", "--strategy", "counter")["short_code"]
        for n in range(2)
    ]
    # Each command leases a block of its own.
    assert made == [code_of(START), code_of(START + 1000)]

    late = terminal.run("admin", "counter", "--start", "1", "--salt-file", str(file))
    assert (late.returncode, late.stdout) == (4, "")
    assert "already has counter codes" in late.stderr
    third = terminal.json("create", "https://example.com/3", "--strategy", "counter")
    assert third["short_code"] == code_of(START + 2000)


def test_what_cannot_be_continued_is_refused_in_one_line(terminal, tmp_path):
    file, empty, huge = tmp_path / "salt", tmp_path / "empty", tmp_path / "huge"
    file.write_bytes(SALT)
    empty.write_bytes(b"\n")
    huge.write_bytes(b"x" * 5000)
    refused = {
        "KURZ_COUNTER_SCRAMBLE": terminal.run(
            *("admin", "counter", "--start", "1", "--salt-file", str(file)),
            KURZ_COUNTER_SCRAMBLE="permutation",
        )
    }
    for reason, start, salt in (
        ("KURZ_CODE_LENGTH", str(62**7), file),
        ("bytes", "1", empty),
        ("bytes", "1", huge),
        ("cannot be read", "1", tmp_path / "missing"),
    ):
        done = terminal.run("admin", "counter", "--start", start, "--salt-file", str(salt))
        refused[f"{reason} {salt.name}"] = done
    for reason, done in refused.items():
        assert done.returncode == 2, done.stderr
        assert done.stderr.count("\n") == 1
        assert reason.partition(" ")[0] in done.stderr
    assert (
        terminal.run("admin", "counter", "--start", "0", "--salt-file", "-", stdin=SALT).stdout
        == f"The next counter code is {code_of(0)}.\n"
    )
