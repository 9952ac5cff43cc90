"""A visitor's query joins the query of the link."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kurz.links import urls
from support.url_strategies import LOCATION, addresses, host_of, judged, queries, query_of, tails


@pytest.mark.parametrize(
    ("location", "query", "merged"),
    [
        ("https://h/", "", "https://h/"),
        ("https://h/", "a=1", "https://h/?a=1"),
        ("https://h/?", "a=1", "https://h/?a=1"),
        ("https://h/?a=1", "b=2", "https://h/?a=1&b=2"),
        ("https://h/?a=1", "a=2", "https://h/?a=1"),
        ("https://h/?a=1", "a=2&b=3&a", "https://h/?a=1&b=3"),
        ("https://h/?a", "a=2", "https://h/?a"),
        ("https://h/?z=1", "b=2&a=1&b=1", "https://h/?z=1&b=2&a=1&b=1"),
        ("https://h/#top", "a=1", "https://h/?a=1#top"),
        ("https://h/?a=1#x?y", "b=2", "https://h/?a=1&b=2#x?y"),
        ("https://h/#", "a=1", "https://h/?a=1#"),
        ("https://h/", "a=1#x", "https://h/"),
        ("https://h/", "a=ü&b=1", "https://h/?b=1"),
        ("https://h/", "a=1\r\nX: y&b=1", "https://h/?b=1"),
        ("https://h/", "a=<&b=%3C", "https://h/?b=%3C"),
        ("https://h/?a=1", "&&b=2&", "https://h/?a=1&b=2"),
        ("https://h/?A=1", "a=2", "https://h/?A=1&a=2"),
    ],
)
def test_a_visitors_query_joins_the_links_own(location, query, merged):
    assert urls.merge_query(location, query) == merged


@pytest.mark.parametrize("spelling", ["%61mount=9", "amoun%74=9", "%61%6d%6f%75%6e%74=9"])
def test_the_links_own_parameter_wins_however_a_visitor_spells_its_name(spelling):
    location = "https://h/pay?amount=1"
    assert urls.merge_query(location, spelling) == location


@given(addresses(), st.one_of(queries(), st.text(), tails()))
@settings(max_examples=400)
def test_a_merged_url_is_a_valid_url_of_the_same_host(url, query):
    judgement = judged(url)
    if judgement is None:
        return
    merged = urls.merge_query(judgement.location, query)
    assert LOCATION.fullmatch(merged)
    assert host_of(merged) == host_of(judgement.location)
    assert merged.partition("#")[2] == judgement.location.partition("#")[2]
    own = [piece for piece in query_of(judgement.location).split("&") if piece]
    pieces = [piece for piece in query_of(merged).split("&") if piece]
    assert pieces[: len(own)] == own
    names = {piece.partition("=")[0] for piece in own}
    assert not names & {piece.partition("=")[0] for piece in pieces[len(own) :]}
    if len(merged) <= urls.MAX_URL_BYTES:
        assert host_of(urls.judge(merged).location) == host_of(judgement.location)
