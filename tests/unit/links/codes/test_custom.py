"""Which codes somebody may choose."""

import pytest

from kurz.links.codes import custom
from kurz.links.codes.words import RESERVED
from kurz.links.errors import CustomCodeRefused

CHOSEN_LIKE = [word for word in sorted(RESERVED) if word.replace("-", "").isalnum()]


@pytest.mark.parametrize(
    "code",
    ["abc", "ABC", "123", "a-b", "a_b", "---", "___", "-ab", "ab-", "a" * 64, "Spring-Sale_2026"],
)
def test_codes_that_may_be_chosen(code):
    custom.check(code)


@pytest.mark.parametrize(
    "code",
    [
        *("", "a", "ab", "a" * 65, "a" * 1000, "a b", " abc", "abc ", "abc\n", "\nabc", "a\tb"),
        *("a.b", "abc.", "a~b", "a/b", "/abc", "a\\b", "a%41", "a+b", "abc+", "a@b", "@abc", "a:b"),
        *(
            "a?b",
            "a#b",
            "a&b",
            "a=b",
            "ä-b",
            "abç",
            "ａｂｃ",
            "абв",
            "١٢٣",
            "a\u200bb",
            "abc\x00",
            "😀😀😀",
        ),
    ],
    ids=ascii,
)
def test_codes_that_may_not_be_chosen(code):
    with pytest.raises(CustomCodeRefused):
        custom.check(code)


@pytest.mark.parametrize("word", CHOSEN_LIKE)
def test_reserved_words_are_refused_in_any_letter_case(word):
    for spelling in {word, word.upper(), word.title(), word.swapcase()}:
        with pytest.raises(CustomCodeRefused):
            custom.check(spelling)


@pytest.mark.parametrize("code", ["apis", "my-api", "app1", "_app", "rest-", "v44", "logins"])
def test_words_around_a_reserved_one_may_be_chosen(code):
    custom.check(code)


def test_three_to_sixty_four_characters():
    accepted = []
    for length in range(100):
        try:
            custom.check("x" * length)
        except CustomCodeRefused:
            continue
        accepted.append(length)
    assert accepted == list(range(3, 65))
