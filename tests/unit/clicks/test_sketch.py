"""How many visitors a sketch tells."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.sketch import PRECISION_OF_LINK, PRECISION_OF_MANY, add, estimate

PRECISIONS = (PRECISION_OF_LINK, PRECISION_OF_MANY)


def crowd(size: int, seed: int = 1) -> list[bytes]:
    numbers = random.Random(seed)
    return [numbers.randbytes(8) for _ in range(size)]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_few_visitors_are_counted_exactly(precision):
    most = 2**precision // 8
    sketch = b""
    for number, visitor in enumerate(crowd(most), start=1):
        sketch = add(sketch, {visitor}, precision)
        assert estimate(sketch) == number
    assert add(sketch, set(crowd(most)), precision) == sketch


@pytest.mark.parametrize(
    ("precision", "error"), [(PRECISION_OF_LINK, 0.0325), (PRECISION_OF_MANY, 0.01625)]
)
@pytest.mark.parametrize("size", [150, 600, 1500, 4000, 12_000, 40_000])
def test_many_visitors_are_estimated_without_bias(precision, error, size):
    """Each is within three errors in all but one of hundreds of crowds, and so their mean within
    less: these are always the same crowds."""
    ratios = [estimate(add(b"", set(crowd(size, seed)), precision)) / size for seed in range(8)]
    assert all(abs(ratio - 1) < 3.3 * error for ratio in ratios)
    assert abs(sum(ratios) / len(ratios) - 1) < 1.5 * error


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_sketch_never_grows_past_its_registers(precision):
    sketch = b""
    for seed in range(30):
        sketch = add(sketch, set(crowd(100, seed)), precision)
        assert len(sketch) <= 1 + 2**precision


@given(
    size=st.sampled_from([0, 1, 100, 128, 129, 300]),
    cuts=st.lists(st.integers(0, 300), max_size=5),
    order=st.randoms(),
)
def test_order_and_repetition_make_no_difference(size, cuts, order):
    visitors = crowd(size)
    expected = add(b"", set(visitors), PRECISION_OF_LINK)
    again = visitors + order.sample(visitors, size // 2)
    order.shuffle(again)
    sketch = b""
    bounds = [0, *sorted(cuts), len(again)]
    for start, end in pairwise(bounds):
        sketch = add(sketch, set(again[start:end]), PRECISION_OF_LINK)
    assert estimate(sketch) == estimate(expected)
    assert sorted(sketch) == sorted(expected)  # hashes stand in the order they came in


def test_what_only_looks_like_a_known_hash_is_another_visitor():
    sketch = add(b"", {b"abcdefgh"}, PRECISION_OF_LINK)
    sketch = add(sketch, {b"ijklmnop"}, PRECISION_OF_LINK)
    assert estimate(add(sketch, {b"efghijkl"}, PRECISION_OF_LINK)) == 3
    assert estimate(add(sketch, {b"ijklmnop"}, PRECISION_OF_LINK)) == 2


def test_nobody_is_nothing():
    assert add(b"", set(), PRECISION_OF_LINK) == b""
    assert estimate(b"") == 0


def test_hashes_at_the_edges_fit():
    edges = [bytes(7) + b"\1", b"\xff" * 8, b"\x80" + bytes(7), bytes(8)]
    sketch = add(b"", {*crowd(200), *edges}, PRECISION_OF_LINK)
    assert max(sketch[1:]) == 64 - PRECISION_OF_LINK + 1
    assert 0 < estimate(sketch) < 300
