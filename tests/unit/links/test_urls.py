"""Which URLs enter kurz, and the forms they take."""

import json
import re
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from data.good_urls import GOOD
from data.hostile_urls import HOSTILE
from kurz.links import urls
from kurz.links.codes import deterministic
from kurz.links.errors import UrlRefused
from support.url_strategies import LOCATION, refusal

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "vectors.json").read_text())


def test_the_table_has_thirty_vectors():
    assert len(VECTORS) == 30


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["url"])
def test_vectors_have_their_canonical_form_and_code(vector):
    canonical = urls.judge(vector["url"]).canonical
    assert canonical == vector["canonical"]
    assert deterministic.generate(canonical, vector["workspace"]) == vector["code"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["url"])
def test_canonical_forms_of_the_vectors_stay_as_they_are(vector):
    judgement = urls.judge(vector["canonical"])
    assert (judgement.location, judgement.canonical) == (vector["canonical"], vector["canonical"])


@pytest.mark.parametrize("url", HOSTILE, ids=lambda url: ascii(url)[:60])
def test_hostile_urls_are_refused(url):
    with pytest.raises(UrlRefused):
        urls.judge(url)


@pytest.mark.parametrize("url", GOOD, ids=lambda url: ascii(url)[:60])
def test_good_urls_are_accepted(url):
    judgement = urls.judge(url)
    assert judgement.original == url
    assert LOCATION.fullmatch(judgement.location)
    assert LOCATION.fullmatch(judgement.canonical)


def test_the_corpus_is_large_and_without_doubles():
    assert len(HOSTILE) == len(set(HOSTILE)) >= 150
    assert len(GOOD) == len(set(GOOD)) >= 40
    assert not set(HOSTILE) & set(GOOD)


@pytest.mark.parametrize(
    ("url", "reason", "sentence"),
    [
        ("javascript:alert(1)", "scheme", "http:// or https://"),
        ("https://user@example.com/", "credentials", "user name or password"),
        ("https://example.com/a b", "characters", "space"),
        ("https://example.com/\ud800", "text", "Unicode"),
        ("http://2130706433/", "address", "127.0.0.1"),
        ("http://example.com:0/", "port", "Port 0"),
        ("http://example.com:99999/", "malformed", "typos"),
        ("http://a..b/", "host", "empty or too long"),
        ("https://example.com/" + "a" * 2029, "too-long", "2048 bytes"),
        ("https://example.com/" + "ü" * 400, "too-long", "percent-encoded"),
        ("https://kurz.example/x", "own", "back to this shortener"),
    ],
    ids=lambda text: ascii(text)[:40],
)
def test_a_refusal_names_its_reason(url, reason, sentence):
    with pytest.raises(UrlRefused, match=re.escape(sentence)) as refused:
        urls.judge(url, ("kurz.example",))
    assert refused.value.fields == {"reason": reason}


@pytest.mark.parametrize(
    ("url", "location", "canonical"),
    [
        ("https://EXAMPLE.com", "https://example.com/", "https://example.com/"),
        ("https://h/a/?b&a#F", "https://h/a/?b&a#F", "https://h/a?a&b"),
        ("https://h///", "https://h///", "https://h/"),
        ("https://h/a///", "https://h/a///", "https://h/a"),
        ("https://h//a//b/", "https://h//a//b/", "https://h//a//b"),
        ("https://h/?&&", "https://h/?&&", "https://h/"),
        ("https://h?", "https://h/?", "https://h/"),
        ("https://h/?a=&a&a=1", "https://h/?a=&a&a=1", "https://h/?a=&a&a=1"),
        ("https://h/?b=1&=2&a", "https://h/?b=1&=2&a", "https://h/?=2&a&b=1"),
        ("https://h/?ä=1&z=2", "https://h/?%C3%A4=1&z=2", "https://h/?%C3%A4=1&z=2"),
        ("https://h/?a-b=1&a=2", "https://h/?a-b=1&a=2", "https://h/?a=2&a-b=1"),
        ("https://h/?a%3Db=1&a=2", "https://h/?a%3Db=1&a=2", "https://h/?a=2&a%3Db=1"),
        ("https://h/#?b&a", "https://h/#?b&a", "https://h/"),
        ("https://h/?q='", "https://h/?q=%27", "https://h/?q=%27"),
        ("https://h/a/%2E%2e/b", "https://h/b", "https://h/b"),
        ("https://XN--ZCA/", "https://xn--zca/", "https://xn--zca/"),
    ],
    ids=lambda url: url.removeprefix("https://"),
)
def test_the_three_forms_of_a_url(url, location, canonical):
    judgement = urls.judge(url)
    assert judgement == urls.JudgedUrl(url, location, canonical)


def test_2048_bytes_are_accepted_and_one_more_is_refused():
    longest = "https://example.com/" + "a" * (2048 - 20)
    assert len(longest) == 2048
    assert urls.judge(longest).location == longest
    assert "2048" in refusal(longest + "a")


def test_the_limit_counts_bytes_not_characters():
    url = "https://example.com/#" + "ü" * 1014
    assert len(url) < 2048 < len(url.encode())
    assert refusal(url) == "The URL is longer than 2048 bytes."


def test_the_limit_holds_for_the_serialised_form_too():
    fits = "https://example.com/" + "ü" * 338  # six characters each: 2048
    assert len(urls.judge(fits).location) == 2048
    assert refusal(fits + "a").endswith("bytes when percent-encoded.")


@given(st.ip_addresses(v=4))
@example(IPv4Address(0))
@example(IPv4Address("0.0.0.1"))
@example(IPv4Address("255.0.0.0"))
def test_an_ipv4_address_in_an_ipv6_address_is_the_same_place(address):
    """Its URLs stay as they are: codes are computed from them."""
    judged = urls.judge(f"http://[::ffff:{address}]/x")
    assert judged.location == judged.canonical
    assert judged.location.startswith("http://[::ffff:")
    mapped, plain = urls.take_apart(judged.location), urls.take_apart(f"http://{address}/x")
    assert mapped == plain
    assert mapped is not None
    assert mapped.host == str(address)


@given(st.ip_addresses(v=6))
@example(IPv6Address("::102:304"))
@example(IPv6Address("::ffff:0:102:304"))
@example(IPv6Address("1::ffff:102:304"))
@example(IPv6Address("64:ff9b::102:304"))
def test_other_ipv6_addresses_are_places_of_their_own(address):
    location = urls.judge(f"http://[{address}]/").location
    taken = urls.take_apart(location)
    assert taken is not None
    assert address.ipv4_mapped or f"http://{taken.host}/" == location
