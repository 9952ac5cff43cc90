"""The checksum of where a code leads: no other link has it, and no other key gives it."""

import secrets

from hypothesis import given
from hypothesis import strategies as st

from kurz.links.checksums import CHECKSUM_BYTES, KEY_BYTES, Checksums, open_key, seal_key

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
destinations = st.tuples(st.integers(0, 2**63 - 1), texts, texts, st.none() | texts)
CHECKSUMS = Checksums(bytes(range(KEY_BYTES)))


@given(destinations)
def test_texts_and_their_bytes_have_the_same_checksum(destination):
    workspace_id, code, url, location = destination
    stored = None if location is None else bytearray(location.encode())
    checksum = CHECKSUMS.of(*destination)
    assert checksum == CHECKSUMS.of_bytes(
        workspace_id, code.encode(), bytearray(url.encode()), stored
    )
    assert len(checksum) == CHECKSUM_BYTES


@given(destinations, destinations)
def test_another_destination_has_another_checksum(one, other):
    assert (CHECKSUMS.of(*one) == CHECKSUMS.of(*other)) == (one == other)


@given(destinations)
def test_another_key_gives_another_checksum(destination):
    other = Checksums(bytes(KEY_BYTES))
    assert CHECKSUMS.of(*destination) != other.of(*destination)


def test_a_part_that_moves_to_its_neighbour_changes_the_checksum():
    whole = CHECKSUMS.of(1, "ab", "cd", "ef")
    moved = [(1, "abc", "d", "ef"), (1, "ab", "cde", "f"), (1, "ab", "cdef", None)]
    moved += [(1, "ab", "cd", "ef+"), (11, "ab", "cd", "ef"), (1, "ab", "cd", None)]
    assert whole not in [CHECKSUMS.of(*it) for it in moved]
    assert CHECKSUMS.of(1, "ab", "cd", None) != CHECKSUMS.of(1, "ab", "cd", "")


def test_each_flipped_bit_of_a_stored_key_is_noticed():
    key = secrets.token_bytes(KEY_BYTES)
    stored = seal_key(key)
    assert open_key(stored) == key
    for bit in range(len(stored) * 8):
        flipped = bytearray(stored)
        flipped[bit // 8] ^= 1 << bit % 8
        assert open_key(bytes(flipped)) is None
    assert open_key(b"") is None
    assert open_key(stored[:-1]) is None
