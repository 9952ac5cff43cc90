"""Codes computed from the URL, which others compute too."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.links.codes import deterministic

VECTORS = json.loads((Path(__file__).parents[3] / "data" / "vectors.json").read_text())
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
URL = "http://example.com/api/users?id=123&name=john"


def independent(canonical: str, workspace: int, salt: int = 0) -> str:
    """The rule of the product page, written once more."""
    parts = [canonical, str(workspace), *([str(salt)] if salt else [])]
    number = int(hashlib.sha256("|".join(parts).encode()).hexdigest()[:32], 16)
    code = ""
    while number > 0:
        code = ALPHABET[number % 58] + code
        number //= 58
    return code[:10]


def test_the_vector_of_the_product_page():
    assert deterministic.generate(URL, 42) == "K5YWpCtbjZ"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["code"])
def test_canonical_forms_have_their_codes(vector):
    assert deterministic.generate(vector["canonical"], vector["workspace"]) == vector["code"]


@given(st.text("abc:/?&=.%|0123456789"), st.integers(1, 2**53), st.integers(0, 9))
def test_the_rule_can_be_written_by_anybody(canonical, workspace, salt):
    assert deterministic.generate(canonical, workspace, salt) == independent(
        canonical, workspace, salt
    )


def test_there_are_ten_salts_and_each_gives_another_code():
    assert deterministic.SALTS == 10
    assert len({deterministic.generate(URL, 42, salt) for salt in range(10)}) == 10


def test_salt_zero_is_no_salt():
    assert deterministic.generate(URL, 42, 0) == deterministic.generate(URL, 42)


def test_workspaces_have_different_codes():
    assert len({deterministic.generate(URL, workspace) for workspace in range(1, 101)}) == 100


def test_a_salt_is_not_taken_for_a_workspace():
    assert deterministic.generate(URL, 4, 2) != deterministic.generate(URL, 42)


def test_codes_have_ten_characters_nobody_confuses():
    codes = [deterministic.generate(f"https://example.com/{n}", 1) for n in range(2000)]
    assert {len(code) for code in codes} == {10}
    assert set("".join(codes)) == set(ALPHABET)
    assert not set("0OIl") & set(ALPHABET)
    assert len(set(codes)) == 2000
