"""One click, written and read: nothing is lost, nothing is too long, nothing is made up."""

import struct
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks import record
from kurz.clicks.record import (
    COUNT_ONLY,
    END_OF_TIME,
    FRAME_BYTES,
    MAX_RECORD_BYTES,
    PREFETCH,
    UNKNOWN_VISITOR,
    encode,
    end_of,
    link_tag_of,
    visit_of,
)
from kurz.clicks.trimming import language_of, origin_of
from support.journal_reader import decode

headers = st.binary(max_size=600)
visits = st.fixed_dictionaries(
    {
        "network": st.one_of(
            st.just(b""), st.binary(min_size=3, max_size=3), st.binary(min_size=6, max_size=6)
        ),
        "visitor": st.binary(min_size=8, max_size=8),
        "flags": st.integers(0, 255),
        "user_agent": headers,
        "referrer": st.one_of(
            headers, st.from_regex(rb"https?://[a-z0-9.-]{1,150}(:[0-9]{1,5})?/.*")
        ),
        "language": st.one_of(headers, st.from_regex(rb"[a-z]{2}(-[A-Z]{2})?(,.*)?")),
    }
)
clicks = st.fixed_dictionaries(
    {
        "at_micros": st.integers(0, END_OF_TIME - 1),
        "latency_ns": st.integers(-(2**40), 2**50),
        "link_id": st.integers(0, 2**64 - 1),
        "workspace_id": st.integers(0, 2**32 - 1),
        "visit": visits,
    }
)


def encoded(click) -> bytes:
    link_tag = link_tag_of(click["link_id"], click["workspace_id"])
    return encode(click["at_micros"], click["latency_ns"], link_tag, visit_of(**click["visit"]))


@given(clicks)
def test_what_is_written_is_read(click):
    data = encoded(click)
    assert end_of(data, 0) == len(data)
    found = decode(data[FRAME_BYTES:])
    visit = click["visit"]
    assert (found.at_micros, found.link_id) == (click["at_micros"], click["link_id"])
    assert found.workspace_id == click["workspace_id"]
    assert found.flags == visit["flags"]
    assert found.latency_ns == min(max(click["latency_ns"], 0) // 100, 2**32 - 1) * 100
    texts = (found.user_agent, found.referrer, found.language)
    if visit["flags"] & COUNT_ONLY:
        assert (found.network, found.visitor, *texts) == (b"", UNKNOWN_VISITOR, b"", b"", b"")
        return
    assert (found.network, found.visitor) == (visit["network"], visit["visitor"])
    kept = (visit["user_agent"][:256], origin_of(visit["referrer"]), language_of(visit["language"]))
    assert texts == kept


@given(clicks)
def test_no_record_is_longer_than_512_bytes(click):
    assert len(encoded(click)) <= MAX_RECORD_BYTES <= 512


def test_the_longest_record_is_as_long_as_the_limit():
    visit = visit_of(
        network=bytes(6),
        visitor=bytes(8),
        flags=0,
        user_agent=b"a" * 10_000,
        referrer=b"https://" + b"a" * 120,
        language=b"abcdefgh" + b"-abcdefgh" * 9,
    )
    assert len(encode(0, 0, link_tag_of(0, 0), visit)) == MAX_RECORD_BYTES == 466


def test_the_bytes_are_those_of_the_documentation():
    visit = visit_of(
        network=bytes([203, 0, 113]),
        visitor=b"visitor!",
        flags=PREFETCH,
        user_agent=b"agent",
        referrer=b"https://a.example/path",
        language=b"de",
    )
    body = (
        struct.pack("<QI", 1_700_000_000_000_000, 1234)
        + struct.pack("<QI", 5, 6)
        + struct.pack("<BB6s8sBBH", 1, 4, bytes([203, 0, 113, 0, 0, 0]), b"visitor!", 2, 17, 5)
        + b"dehttps://a.exampleagent"
    )
    expected = struct.pack("<HI", len(body), crc32(body)) + body
    assert encode(1_700_000_000_000_000, 123_456, link_tag_of(5, 6), visit) == expected


def test_what_asks_to_be_counted_only_leaves_nothing_but_its_flags():
    visit = visit_of(
        network=b"abc",
        visitor=b"visitor!",
        flags=COUNT_ONLY | PREFETCH,
        user_agent=b"agent",
        referrer=b"https://a.example/",
        language=b"de",
    )
    assert visit == bytes([COUNT_ONLY | PREFETCH]) + bytes(19)
    click = decode(encode(1, 1, link_tag_of(1, 1), visit)[FRAME_BYTES:])
    assert click.is_count_only
    assert click.is_prefetch


@given(st.binary(max_size=512))
def test_decoding_anything_raises_nothing_but_value_errors(body):
    try:
        decode(body)
    except ValueError:
        return
    assert len(body) >= record.MIN_BODY_BYTES


@given(clicks, st.integers(0, 100_000))
def test_a_body_that_is_cut_or_longer_is_refused(click, cut):
    body = encoded(click)[FRAME_BYTES:]
    with pytest.raises(ValueError, match=r"short|match"):
        decode(body[: cut % len(body)])
    with pytest.raises(ValueError, match="match"):
        decode(body + b"x")


@given(clicks, st.integers(0, 100_000), st.integers(1, 255))
def test_a_changed_byte_is_never_read_as_a_click(click, place, change):
    data = bytearray(encoded(click))
    data[place % len(data)] ^= change
    try:
        end = end_of(bytes(data), 0)
    except ValueError:
        return
    # What is left is a length that reaches behind the data.
    assert end is None


@pytest.mark.parametrize(
    ("place", "value"),
    [(7, 1), (25, 5), (31, 1), (40, 33), (41, 129), (43, 2)],
    ids=["instant", "form of network", "rest of network", "language", "referrer", "user agent"],
)
def test_a_body_that_encode_would_not_make_is_refused(place, value):
    visit = visit_of(
        network=b"abc", visitor=bytes(8), flags=0, user_agent=b"", referrer=b"", language=b""
    )
    body = bytearray(encode(1, 1, link_tag_of(1, 1), visit)[FRAME_BYTES:])
    body[place] = value
    with pytest.raises(ValueError, match=r"."):
        decode(bytes(body))
