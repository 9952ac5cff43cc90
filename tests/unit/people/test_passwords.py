"""Passwords: every byte counts, and hashing takes nothing from the rest (threats T16, T18, T19)."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kurz.people.errors import PasswordRefused
from kurz.people.passwords import COST, MAX_BYTES, Passwords, check

EMAIL = "ada@example.com"


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    made = Passwords(cost=4)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a" * 72 + "x", "a" * 72 + "y"),
        ("a" * 72, "a" * 73),
        ("a" * 99 + "x", "a" * 99 + "y"),
        ("a" * 255 + "x", "a" * 255 + "y"),
        ("a" * 1023 + "x", "a" * 1023 + "y"),
        ("🔑" * 18 + "x", "🔑" * 18 + "y"),
        ("🔑" * 20, "🔑" * 19 + "🔒"),
        ("é" * 36 + "é", "é" * 36 + "è"),
        ("before\0after", "before\0other"),
        ("before\0after", "before"),
        ("\0" * 8, "\0" * 9),
        ("\0password one", "\0password two"),
        ("Password one", "password one"),
        ("password one", "password one "),
        ("password one", " password one"),
        ("password one\n", "password one"),
        ("password \ud800", "password \ud801"),
        ("password \ud800", "password ?"),
    ],
    ids=lambda value: f"{len(value)} letters",
)
async def test_passwords_that_differ_anywhere_are_different(passwords, one, other):
    hashed = await passwords.hash(one)
    assert await passwords.verify(one, hashed)
    assert not await passwords.verify(other, hashed)


@pytest.mark.parametrize("password", ["", "\0", "x" * 16_000, "🔑" * 4000, "\ud800", "\udfff" * 80])
async def test_any_text_can_be_tried_as_a_password(passwords, password):
    hashed = await passwords.hash("correct horse battery staple")
    assert not await passwords.verify(password, hashed)
    assert not await passwords.verify(password, None)


@settings(max_examples=20)
@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_any_password_fits_its_own_hash(password):
    passwords = Passwords(cost=4)
    hashed = passwords._hash(password)
    passwords.close()
    assert passwords._verify(password, hashed)
    assert not passwords._verify(password + "x", hashed)


async def test_the_cost_is_12_and_stands_in_the_hash():
    assert COST == 12
    passwords = Passwords()
    hashed = await passwords.hash("correct horse battery staple")
    passwords.close()
    assert hashed.startswith("$2b$12$")
    assert passwords._decoy.startswith("$2b$12$")
    assert len(passwords._decoy) == len(hashed) == 60


async def test_a_hash_is_salted_and_does_not_hold_the_password(passwords):
    hashes = {await passwords.hash("correct horse battery staple") for _ in range(5)}
    assert len(hashes) == 5
    assert all("horse" not in hashed for hashed in hashes)


async def test_refusing_nobody_costs_one_check_like_refusing_somebody(passwords):
    hashed = await passwords.hash("correct horse battery staple")
    for given_hash, password in [(None, "x"), (hashed, "x"), (hashed, "correct horse")]:
        before = passwords.checks
        assert not await passwords.verify(password, given_hash)
        assert passwords.checks == before + 1


@pytest.mark.parametrize(
    "password",
    [
        "x1y2z3w4",
        "a" * 1021 + "xyz",
        "🔑🔒🔓🗝" * 64,  # 1024 bytes
        "tab\tand\nline",
        "NUL\0inside",
        "kurz-und-gut",
        "password horse password",
        "x1y2z3x1y2z3",
        "        spaced  out",
        "пароль-который-никто-не-угадает",
        "4815162342",
        "66666612984",
        "p@ssage-0f-time",
        "1ink to n0where",
    ],
)
def test_a_password_that_is_long_enough_may_be_anything(password):
    check(password, EMAIL)


@pytest.mark.parametrize(
    "password",
    [
        "",
        "x1y2z3w",
        "🔑🔒🔓🗝🔑🔒🔓",  # 28 bytes, 7 characters
        "a" * 1022 + "xyz",
        "🔑🔒🔓🗝" * 64 + "x",
        "half a character \ud800",
        "password",
        "PASSWORD",
        "Password1",
        "12345678",
        "qwertyuiop",
        "aaaaaaaaaaaaaaaa",
        "abcabcabcabc",
        "\0" * 20,
        EMAIL,
        EMAIL.upper(),
        "example.com",
        "Example.COM",
        "passwordpassword",
        "Password-password!",
        "kurzkurz12",
        "12kurzKURZkurz",
        "abc123abc123",
        "qwertz qwertz",
        "adaada2026",
        "ｐａｓｓｗｏｒｄ",
        "P@ssw0rd",
        "P@ssw0rd1",
        "p4ssw0rd",
        "Passw0rd!",
        "P@$$w0rd123",
        "P@$$1234",
        "Pa55w0rd2026!?",
        "password_1",
        "We1c0me!",
        "@dm1n2026",
        "!l0v3y0u",
        "$un5h1ne",
        "qwerty12!",
        "P@ssw0rdP@ssw0rd",
        "@d@ada1815",
    ],
    ids=ascii,
)
def test_a_password_that_is_tried_first_is_refused_without_repeating_it(password):
    with pytest.raises(PasswordRefused) as refused:
        check(password, EMAIL)
    assert len(password) <= 8 or password not in refused.value.detail


def test_the_longest_password_has_1024_bytes():
    assert MAX_BYTES == 1024


async def test_the_event_loop_goes_on_while_passwords_are_hashed():
    passwords = Passwords(cost=10)
    hashing = asyncio.create_task(passwords.hash("correct horse battery staple"))
    turns = 0
    while not hashing.done():
        await asyncio.sleep(0)
        turns += 1
    passwords.close()
    assert turns > 10


def test_passwords_are_checked_where_priorities_may_not_be_changed():
    command = [sys.executable, "-m", "support.forbidden"]
    tests = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=tests, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["forbidden", "True"], done.stderr
