"""Random codes."""

import string

import pytest

from kurz.links.codes import random

ALPHABET = set(string.ascii_letters + string.digits)


@pytest.mark.parametrize("length", [1, 4, 7, 21])
def test_codes_have_the_length_asked_for(length):
    assert {len(random.generate(length)) for _ in range(200)} == {length}


def test_every_letter_and_digit_occurs_in_every_position():
    """In 2000 codes a given character is missing from a position once in 10^14 times."""
    codes = [random.generate(7) for _ in range(2000)]
    for position in range(7):
        assert {code[position] for code in codes} == ALPHABET


def test_codes_do_not_repeat():
    """A double among 2000 of 62^7 codes comes once in 1.7 million runs."""
    assert len({random.generate(7) for _ in range(2000)}) == 2000


def test_codes_do_not_follow_pythons_seedable_generator():
    import random as seedable

    seedable.seed(1)
    first = [random.generate(7) for _ in range(5)]
    seedable.seed(1)
    assert first != [random.generate(7) for _ in range(5)]
