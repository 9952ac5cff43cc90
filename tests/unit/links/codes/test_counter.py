"""Codes from a counter: distinct, of fixed length, and in no order that anybody can follow."""

import hashlib
import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.links.codes.counter import CounterCodes

KEY = hashlib.sha256(b"the key of this test").digest()
ALPHABET = string.ascii_lowercase + string.ascii_uppercase + string.digits
SPACE = 62**7
MANY = 20_000


def value(code: str) -> int:
    """A code as the number it writes, most significant character first."""
    number = 0
    for character in code:
        number = number * 62 + ALPHABET.index(character)
    return number


@pytest.fixture(scope="module")
def codes() -> list[str]:
    counted = CounterCodes(KEY, 7)
    return [counted.code(number) for number in range(MANY)]


@pytest.fixture(scope="module")
def values(codes: list[str]) -> list[int]:
    return [value(code) for code in codes]


def chi_square(numbers: list[int], space: int, bins: int) -> float:
    counts = [0] * bins
    for number in numbers:
        counts[number * bins // space] += 1
    expected = len(numbers) / bins
    return sum((count - expected) ** 2 / expected for count in counts)


def correlation(xs: list[int], ys: list[int]) -> float:
    """Pearson's; of ranks it is Spearman's."""
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    spread = sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in ys)
    return float(covariance / spread**0.5)


def ranks(numbers: list[int]) -> list[int]:
    order = {number: rank for rank, number in enumerate(sorted(numbers))}
    return [order[number] for number in numbers]


def test_codes_have_seven_characters_of_base62(codes):
    assert {len(code) for code in codes} == {7}
    assert set("".join(codes)) == set(ALPHABET)


def test_twenty_thousand_codes_are_distinct(codes):
    assert len(set(codes)) == MANY


def test_a_small_space_is_used_up_without_a_double():
    counted = CounterCodes(KEY, 2)
    assert len({counted.code(number) for number in range(62**2)}) == 62**2


def test_no_code_follows_the_one_before(values):
    steps = [(after - before) % SPACE for before, after in pairwise(values)]
    assert not {1, SPACE - 1} & set(steps)
    assert len(set(steps)) == len(steps)


def test_codes_do_not_rise_with_the_counter(values):
    """20,000 ranks in random order correlate by less than 0.03 but once in 40,000 times."""
    assert abs(correlation(ranks(values), list(range(MANY)))) < 0.03


def test_a_code_tells_nothing_of_the_next_one(values):
    assert abs(correlation(ranks(values[:-1]), ranks(values[1:]))) < 0.03


def test_codes_fill_the_space_evenly(values):
    """99 degrees of freedom: 99.999 % of even samples stay below 167."""
    assert chi_square(values, SPACE, 100) < 167


def test_steps_between_codes_are_even(values):
    steps = [(after - before) % SPACE for before, after in pairwise(values)]
    assert chi_square(steps, SPACE, 100) < 167


def test_every_character_position_varies_evenly(codes):
    """61 degrees of freedom: 99.999 % of even samples stay below 117. The first position of a
    space of 62^7 is as even as the others."""
    for position in range(7):
        numbers = [ALPHABET.index(code[position]) for code in codes]
        assert chi_square(numbers, 62, 62) < 117


def test_the_same_key_gives_the_same_codes():
    assert CounterCodes(KEY, 7).code(12_345) == CounterCodes(KEY, 7).code(12_345)


def test_another_key_gives_other_codes():
    other = CounterCodes(bytes(32), 7)
    mine = CounterCodes(KEY, 7)
    assert not {mine.code(n) for n in range(100)} & {other.code(n) for n in range(100)}


@pytest.mark.parametrize("scramble", ["permutation", "offset"])
def test_the_counter_starts_over_after_the_last_code(scramble):
    counted = CounterCodes(KEY, 7, scramble)
    assert counted.code(SPACE) == counted.code(0)


def test_the_offset_is_the_first_eight_bytes_of_the_hash():
    offset = int.from_bytes(hashlib.sha256(KEY).digest()[:8], "big")
    assert value(CounterCodes(KEY, 7, "offset").code(0)) == offset % SPACE


def test_the_offset_scramble_counts_up_by_one():
    counted = CounterCodes(KEY, 7, "offset")
    values = [value(counted.code(number)) for number in range(1000)]
    assert {(after - before) % SPACE for before, after in pairwise(values)} == {1}


@pytest.mark.parametrize("length", [4, 7, 21])
def test_codes_have_the_length_that_is_set(length):
    assert {len(CounterCodes(KEY, length).code(number)) for number in range(20)} == {length}


@given(st.integers(0, SPACE - 1), st.binary(min_size=1, max_size=40), st.integers(4, 10))
def test_a_series_with_another_salt_is_continued(number, salt, length):
    """By the formula of the seed: (counter + hash(salt)) mod 62^length."""
    counted = CounterCodes(KEY, length, "offset")
    ours = counted.number_in_series(number, salt)
    theirs = number + int.from_bytes(hashlib.sha256(salt).digest()[:8], "big")
    assert 0 <= ours < 2**63 - 2**40
    for step in (0, 1, 5000):
        assert value(counted.code(ours + step)) == (theirs + step) % 62**length
