"""The keyed permutation that hides counters and row numbers."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.links.codes.permutation import Permutation

KEYS = [bytes(32), bytes(range(32)), hashlib.sha256(b"a key").digest()]
CODES = 62**7
IDS = 2**53
keys = st.binary(min_size=32, max_size=32)


def permutation(size: int, key: bytes = KEYS[1], purpose: bytes = b"test") -> Permutation:
    return Permutation(key, size, purpose=purpose)


def independent(key: bytes, size: int, purpose: bytes, number: int) -> int:
    """The permutation as the product describes it, with the library's HMAC."""
    side = next(a for a in range(int(size**0.5), size + 2) if a * a >= size)
    while True:
        left, right = number // side, number % side
        for round_number in range(10):
            message = purpose + bytes([round_number]) + right.to_bytes(8, "big")
            digest = hmac.new(key, message, hashlib.sha256).digest()
            left, right = right, (left + int.from_bytes(digest[:16], "big")) % side
        number = left * side + right
        if number < size:
            return number


@pytest.mark.parametrize("key", KEYS, ids=["zero key", "counting key", "hashed key"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 10, 16, 17, 62, 62**2])
def test_every_number_is_met_once(size, key):
    numbers = permutation(size, key)
    assert sorted(map(numbers.apply, range(size))) == list(range(size))


@pytest.mark.parametrize("size", [1, 2, 3, 10, 62**2])
def test_invert_undoes_apply_for_every_number(size):
    numbers = permutation(size)
    assert [numbers.invert(numbers.apply(number)) for number in range(size)] == list(range(size))


@given(key=keys, data=st.data(), size=st.sampled_from([CODES, IDS]))
def test_invert_undoes_apply_on_the_sizes_in_use(key, data, size):
    number = data.draw(st.integers(0, size - 1))
    numbers = permutation(size, key)
    hidden = numbers.apply(number)
    assert 0 <= hidden < size
    assert numbers.invert(hidden) == number
    assert numbers.apply(numbers.invert(number)) == number


@pytest.mark.parametrize("size", [CODES, IDS])
def test_the_last_numbers_are_inside_too(size):
    numbers = permutation(size)
    hidden = [numbers.apply(size - 1 - distance) for distance in range(100)]
    assert len(set(hidden)) == 100
    assert all(0 <= number < size for number in hidden)


@given(key=keys, data=st.data(), size=st.sampled_from([7, 1000, CODES, IDS]))
def test_the_rounds_are_hmac_sha256(key, data, size):
    number = data.draw(st.integers(0, size - 1))
    assert permutation(size, key, b"code-v1").apply(number) == independent(
        key, size, b"code-v1", number
    )


def test_the_side_of_the_code_square_is_the_promised_one():
    assert permutation(CODES)._side == 1_876_597


def test_codes_and_ids_of_running_installations_stay_what_they_are():
    codes, ids = permutation(CODES, purpose=b"code-v1"), permutation(IDS, purpose=b"id-v1")
    assert [codes.apply(n) for n in range(3)] == [819434352564, 3328277867546, 1003880657702]
    assert [ids.apply(n) for n in range(1, 4)] == [
        2630268584398633,
        385985680390165,
        6498536821842687,
    ]


@pytest.mark.parametrize("size", [62**2, CODES])
def test_another_key_gives_another_order(size):
    orders = {tuple(map(permutation(size, key).apply, range(50))) for key in KEYS}
    assert len(orders) == len(KEYS)


def test_another_purpose_gives_another_order():
    one, other = permutation(CODES, purpose=b"one"), permutation(CODES, purpose=b"other")
    assert [one.apply(n) for n in range(50)] != [other.apply(n) for n in range(50)]


@pytest.mark.parametrize("size", [1, 10, CODES, IDS])
@pytest.mark.parametrize("method", ["apply", "invert"])
def test_numbers_outside_are_refused(size, method):
    for number in -1, size, size + 1, -size:
        with pytest.raises(ValueError, match="outside"):
            getattr(permutation(size), method)(number)


@pytest.mark.parametrize("length", [0, 16, 31, 33, 64])
def test_keys_of_another_length_are_refused(length):
    with pytest.raises(ValueError, match="32 bytes"):
        permutation(10, bytes(length))
