"""Words that codes may not be or spell."""

from pathlib import Path

import pytest

from kurz.links.code_generator import CodeGenerator
from kurz.links.codes.words import OWN_SEGMENTS, RESERVED, is_offensive, is_reserved
from kurz.links.model import Strategy
from kurz.redirect.app import FILES, PAGE_FILES

# Of product.md, the part on the redirect: `/` and `/@…` apart, which no code can be.
DOCUMENTED = (
    "/app /api /assets /healthz /readyz /metrics /favicon.ico /robots.txt /.well-known"
    " /rest /v4 /yourls-api.php"
)
REDIRECT = Path(__file__).parents[4] / "src" / "kurz"


class Numbers:
    """A counter from 0."""

    def __init__(self) -> None:
        self.given = 0

    async def next(self) -> int:
        self.given += 1
        return self.given - 1


def code_generator(codes: list[str]) -> CodeGenerator:
    """A mint that meets these codes in their order, by either way."""
    waiting = iter(codes)
    return CodeGenerator(
        root_strategy=Strategy.RANDOM,
        random_code=lambda: next(waiting),
        counted_code=codes.__getitem__,
        counter=Numbers(),
    )


def test_the_segments_kurz_answers_are_the_closed_list():
    assert {path.removeprefix("/") for path in DOCUMENTED.split()} == OWN_SEGMENTS


def test_own_segments_are_reserved():
    assert OWN_SEGMENTS < RESERVED


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_words_are_reserved_in_any_letter_case(word):
    assert word == word.lower()
    for spelling in word, word.upper(), word.title(), word.swapcase():
        assert is_reserved(spelling)


@pytest.mark.parametrize("code", ["", "ap", "apis", "api-1", "xapi", "abcdefg", "v5", "robots"])
def test_other_words_are_free(code):
    assert not is_reserved(code)


@pytest.mark.parametrize(
    "code",
    [
        *("fuck", "FUCK", "FuCk", "xxfuckx", "shit123", "5h1t", "5H1Tabc", "SH17aaa", "s3x", "5ex"),
        *("p0rn", "P0RNxyz", "d1ck", "c0ck", "n4z1", "s1ut", "5lut", "1515", "b1tch", "bi7ch"),
        *("wh0re", "r4pe", "4n4l", "an41", "t1t5", "h17ler", "hit1er", "xA5rapeX"),
    ],
)
def test_offensive_words_are_found_in_leet_too(code):
    assert is_offensive(code)


@pytest.mark.parametrize(
    "code", ["", "abcdefg", "K5YWpCtbjZ", "aB3xK9z", "hello", "0123789", "fuc"]
)
def test_harmless_codes_are_not_offensive(code):
    assert not is_offensive(code)


@pytest.mark.parametrize("strategy", [Strategy.RANDOM, Strategy.COUNTER])
@pytest.mark.parametrize(
    "unwanted", ["healthz", "HEALTHZ", "metrics", "Support", "xxfuckx", "5H1Tabc"]
)
async def test_generated_codes_skip_unwanted_words(strategy, unwanted):
    codes = code_generator([unwanted, unwanted, "fine001", "fine002"])
    assert await codes.code(strategy, "", 0, 0) == "fine001"
    assert await codes.code(strategy, "", 0, 0) == "fine002"


async def test_a_number_whose_code_is_unwanted_is_used_up():
    counter = Numbers()
    codes = CodeGenerator(
        root_strategy=Strategy.COUNTER,
        random_code=str,
        counted_code=["healthz", "fine001"].__getitem__,
        counter=counter,
    )
    assert await codes.code(Strategy.COUNTER, "", 0, 0) == "fine001"
    assert counter.given == 2


def test_the_fixed_files_of_the_redirect_are_reserved():
    segments = [path.split("/")[1] for path in (*FILES, *PAGE_FILES, "/app/setup")]
    assert len(segments) >= 4
    assert all(is_reserved(segment) for segment in segments)
