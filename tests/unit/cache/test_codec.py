"""What the second tier writes can be read again, and nothing else can."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.cache.codec import (
    FORMAT,
    MAX_NUMBER,
    WrongKey,
    decode,
    encode_absence,
    encode_change,
    encode_route,
    reason_of,
)
from kurz.freshness.routes import Cached, Change, Route
from kurz.links.model import Status
from support.links import route

KEY = "kurz:n:route:0/abc"
NOW = 1_800_000_000_000_000

numbers = st.integers(0, MAX_NUMBER)
ids = st.integers(1, MAX_NUMBER)
locations = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1).map(
    lambda rest: f"https://{rest}"
)
routes = st.builds(
    Route,
    link_id=ids,
    version=ids,
    status=st.sampled_from([status.value for status in Status]),
    location=locations,
    redirect_status=st.sampled_from([301, 302, 307, 308]),
    forward_query=st.booleans(),
    max_clicks=st.none() | numbers,
    clicks_used=numbers,
    created_at=numbers,
    starts_at=st.none() | numbers,
    expires_at=st.none() | numbers,
    space=st.integers(-MAX_NUMBER, MAX_NUMBER),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def example(**changes: Any) -> Route:
    usual = {"location": "https://example.com/", "created_at": NOW}
    return route(7, 3, **{**usual, **changes})


def text_of(**changes: object) -> bytes:
    value = json.loads(encode_route(KEY, example(), 9, None))
    return json.dumps({**value, **changes}).encode()


@given(routes, numbers, st.text())
def test_every_route_comes_back(route, position, code):
    key = f"kurz:n:route:0/{code}"
    text = encode_route(key, route, position, reason_of(route, NOW)).encode()
    assert decode(text, key) == Cached(route.link_id, route.version, route, position)


@given(numbers)
def test_an_absence_comes_back(position):
    assert decode(encode_absence(KEY, position).encode(), KEY) == Cached(0, 0, None, position)


@given(ids, ids)
def test_a_mark_comes_back(link_id, version):
    text = encode_change(KEY, Change(link_id, 0, "abc", version)).encode()
    assert decode(text, KEY) == Cached(link_id, version, None, 0)


def test_a_value_says_what_it_is_about():
    value = json.loads(encode_route(KEY, example(status="DELETED"), 9, "deleted"))
    assert value["key"] == KEY
    assert (value["is_tombstone"], value["reason"]) == (True, "deleted")
    assert value["original_url"] == "https://example.com/"
    assert {"created_at", "expires_at", "position", "version"} <= value.keys()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"starts_at": NOW + 1}, None),
        ({"expires_at": NOW + 1}, None),
        ({"expires_at": NOW}, "expired"),
        ({"status": "EXPIRED"}, None),  # the clock decides, not the row
        ({"status": "DELETED", "expires_at": NOW}, "deleted"),
        ({"status": "BANNED", "expires_at": NOW}, "banned"),
        ({"status": "PAUSED"}, "paused"),
        ({"max_clicks": 2, "clicks_used": 1}, None),
        ({"max_clicks": 2, "clicks_used": 2}, "exhausted"),
    ],
)
def test_the_reason_of_a_tombstone(changes, reason):
    assert reason_of(example(**changes), NOW) == reason


def test_another_keys_value_is_told_apart():
    with pytest.raises(WrongKey):
        decode(text_of(), "kurz:n:route:0/other")


@pytest.mark.parametrize(
    "changes",
    [
        {"format": FORMAT + 1},
        {"link_id": 0},
        {"link_id": "7"},
        {"link_id": True},
        {"version": 0},
        {"version": 1.0},
        {"position": -1},
        {"position": None},
        {"status": "LOST"},
        {"status": ["ACTIVE"]},
        {"redirect_status": 200},
        {"redirect_status": 302.0},
        {"redirect_status": {}},
        {"forward_query": 1},
        {"max_clicks": "2"},
        {"clicks_used": None},
        {"created_at": MAX_NUMBER + 1},
        {"expires_at": -5},
        {"space": None},  # as the version before wrote it
        {"space": True},
        {"space": -MAX_NUMBER - 1},
        {"original_url": None},
        {"original_url": "javascript:alert(1)"},
        {"original_url": "https://example.com/\r\nset-cookie: a=b"},
        {"original_url": "https://example.com/ü"},
        {"original_url": "https://example.com/\n"},
        {"original_url": "https://"},
    ],
    ids=str,
)
def test_a_value_out_of_range_is_refused(changes):
    decode(text_of(), KEY)
    with pytest.raises(ValueError):  # noqa: PT011
        decode(text_of(**changes), KEY)


@pytest.mark.parametrize("name", json.loads(text_of()).keys() - {"is_tombstone", "reason"})
def test_a_value_that_lacks_something_is_refused(name):
    value = json.loads(text_of())
    del value[name]
    with pytest.raises(ValueError):  # noqa: PT011
        decode(json.dumps(value).encode(), KEY)


@given(st.binary() | anything.map(lambda value: json.dumps(value).encode()))
def test_garbage_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011
        decode(text, KEY)
