"""Which URLs enter kurz, and the forms they take."""

import json
import re
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data.good_urls import GOOD
from data.hostile_urls import HOSTILE
from kurz.errors import SettingRefused
from kurz.links import urls
from kurz.links.codes import deterministic
from kurz.links.errors import UrlRefused
from kurz.people.domains import Domains
from kurz.people.own_hosts import OwnHosts
from kurz.people.workspaces import Site, Workspace
from kurz.settings import load

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "vectors.json").read_text())
LOCATION = re.compile(r"https?://[\x21-\x7e]+")
HOST = re.compile(r"https?://([^/]+)")

# Text near the border between what is accepted and what is not.
ODD_PIECES = [
    *("/", "//", "/./", "/../", "/%2e/", "?", "&", "=", "#", ":", "@", ".", "%", "%2F", "%zz", "+"),
    *(";", "'", '"', "<", "`", "{", "|", "^", "~", "[", "]", "a", "B", "b=1", "ü", "ß", "ẞ", "İ"),
    *(
        "ﬃ",
        "路",
        "😀",
        "\xad",
        "\u200c",
        "\u2060",
        "。",
        "\uff0e",
        "１",
        "0x7f",
        "127.0.0.1",
        "xn--",
    ),
    *(":80", ":443", ":0", "example", ".com", "www.", "[::1]", "%41", "%00", " ", "\\", "\t"),
]
ASCII_NAMES = st.text("abcABZ019-_%7e.~", max_size=4)


def tails() -> st.SearchStrategy[str]:
    return st.lists(st.one_of(st.sampled_from(ODD_PIECES), st.text(max_size=3)), max_size=12).map(
        "".join
    )


def addresses() -> st.SearchStrategy[str]:
    """Mostly acceptable URLs, so that properties of accepted ones are really tried."""
    schemes = st.sampled_from(["http://", "https://", "HTTP://", "hTTps://"])
    hosts = st.sampled_from(
        [
            "example.com",
            "EXAMPLE.com.",
            "münchen.example",
            "1.2.3.4",
            "[2001:DB8::1]",
            "a",
            "faß.de",
        ]
    )
    ports = st.sampled_from(["", ":", ":80", ":443", ":8080", ":00080"])
    paths = st.tuples(st.sampled_from(["", "/", "?", "#", "/a", "//"]), tails()).map("".join)
    return st.tuples(schemes, hosts, ports, paths).map("".join)


def queries() -> st.SearchStrategy[str]:
    piece = st.tuples(ASCII_NAMES, st.sampled_from(["", "=", "=1", "=x=y", "=%C3%BC"])).map("".join)
    return st.lists(piece, max_size=8).map("&".join)


def judged(url: str) -> urls.JudgedUrl | None:
    """None for a URL that is refused."""
    try:
        return urls.judge(url)
    except UrlRefused:
        return None


def names_of(query: str) -> list[bytes]:
    return [piece.partition("=")[0].encode() for piece in query.split("&")]


def query_of(url: str) -> str:
    return url.partition("#")[0].partition("?")[2]


def host_of(url: str) -> str:
    match = HOST.match(url)
    assert match is not None
    return match[1]


def refusal(url: str, own: tuple[str, ...] = ()) -> str:
    with pytest.raises(UrlRefused) as refused:
        urls.judge(url, own)
    return refused.value.detail


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
    ("url", "flaw", "reason"),
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
def test_a_refusal_names_its_reason(url, flaw, reason):
    with pytest.raises(UrlRefused, match=re.escape(reason)) as refused:
        urls.judge(url, ("kurz.example",))
    assert refused.value.fields == {"flaw": flaw}


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
        # The standard leaves ASCII names alone, whatever the Punycode in them means.
        ("https://XN--A/", "https://xn--a/", "https://xn--a/"),
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


OWN = ("kurz.example", "go.example:8443", "[::1]:8080", "10.0.0.1")


@pytest.mark.parametrize(
    "url",
    [
        "https://kurz.example/abc",
        "http://kurz.example",
        "https://kurz.example:9999/",
        "https://KURZ.Example/",
        "https://kurz.example./abc",
        "https://kurz.example.:443/",
        "https://k%75rz.example/",
        "https://kurz\u3002example/",
        "https://\uff4b\uff55\uff52\uff5a.example/",
        "https://go.example:8443/",
        "https://go.example.:8443/",
        "https://go.example:08443/",
        "http://[::1]:8080/",
        "http://[0:0:0:0:0:0:0:1]:8080/",
        "http://10.0.0.1/",
        "http://10.0.0.1:8080/",
        "http://[::ffff:10.0.0.1]/",
        "http://[0:0:0:0:0:FFFF:A00:1]:8080/",
    ],
    ids=ascii,
)
def test_links_back_to_kurz_are_refused(url):
    assert refusal(url, OWN) == "This URL points back to this shortener."
    assert judged(url) is not None


@pytest.mark.parametrize(
    "url",
    [
        "https://www.kurz.example/",
        "https://notkurz.example/",
        "https://kurz.example.com/",
        "https://kurz-example/",
        "https://kurz.examples/",
        "https://kürz.example/",
        "https://xkurz.example./",
        "https://other.example/kurz.example",
        "https://other.example/?next=https://kurz.example/",
        "https://other.example/#kurz.example",
        "https://go.example/",
        "https://go.example:443/",
        "http://go.example:8444/",
        "https://a.go.example:8443/",
        "http://[::1]/",
        "http://[::2]:8080/",
        "http://10.0.0.10/",
        "http://110.0.0.1/",
        "http://[::ffff:10.0.0.10]/",
        "http://[::10.0.0.1]/",
    ],
)
def test_look_alikes_of_our_hosts_are_accepted(url):
    assert urls.judge(url, OWN) == urls.judge(url)


@pytest.mark.parametrize(
    ("own", "url"),
    [
        ("go.example:443", "https://go.example/"),
        ("go.example:80", "http://go.example/"),
    ],
)
def test_a_default_port_of_ours_is_recognised_when_it_is_left_out(own, url):
    assert refusal(url, (own,)) == "This URL points back to this shortener."


def test_a_default_port_belongs_to_its_own_scheme():
    assert urls.judge("http://go.example/", ("go.example:443",)).location == "http://go.example/"


class NoWorkspaces:
    """A `WorkspaceStore` with nothing in it."""

    async def find(self, workspace_id: int) -> Workspace | None:
        return None

    async def find_by_slug(self, slug: str) -> Workspace | None:
        return None

    async def verified_sites(self) -> dict[str, Site]:
        return {}


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://go.example", "https://go.example/x"),
        ("https://GO.example:8443/", "https://go.example:8443/x"),
        ("https://go.example:443", "https://go.example/x"),
        ("http://[::1]:8080", "http://[::1]:8080/x"),
        ("https://xn--mnchen-3ya.example", "https://münchen.example/x"),
        ("https://münchen.example", "https://xn--mnchen-3ya.example/x"),
        ("https://go.example.", "https://go.example/x"),
        ("http://[0:0::1]:8080", "http://[::1]:8080/x"),
        ("http://127.1:8080", "http://127.0.0.1:8080/x"),
    ],
)
async def test_a_base_url_is_refused_or_recognised(base_url, url):
    """However it is written: a link to it must not be made."""
    try:
        address = load({}, {"KURZ_BASE_URL": base_url}).settings.base_url
    except SettingRefused:
        return
    assert judged(url) is not None
    own = await OwnHosts(address, Domains(NoWorkspaces())).get()
    with pytest.raises(UrlRefused):
        urls.judge(url, own)


@given(st.one_of(st.text(), st.text(st.characters(codec=None)), addresses()))
@settings(max_examples=500)
def test_judging_arbitrary_text_gives_a_verdict(text):
    judgement = judged(text)
    if judgement is not None:
        assert judgement.original == text


@given(addresses())
@settings(max_examples=400)
@example("https://h/a/./")
@example("https://h//..//")
def test_the_canonical_form_is_idempotent(url):
    judgement = judged(url)
    if judgement is not None:
        again = urls.judge(judgement.canonical)
        assert (again.location, again.canonical) == (judgement.canonical, judgement.canonical)


@given(addresses())
@settings(max_examples=400)
def test_a_location_is_plain_ascii_and_judged_alike(url):
    judgement = judged(url)
    if judgement is not None:
        assert LOCATION.fullmatch(judgement.location)
        again = urls.judge(judgement.location)
        assert (again.location, again.canonical) == (judgement.location, judgement.canonical)


@given(addresses())
@settings(max_examples=400)
def test_a_canonical_form_has_no_fragment_slash_or_disorder(url):
    judgement = judged(url)
    if judgement is None:
        return
    canonical = judgement.canonical
    assert "#" not in canonical
    path = canonical.partition("?")[0].partition("://")[2].partition("/")[2]
    assert not path.endswith("/")
    if "?" in canonical:
        names = names_of(query_of(canonical))
        assert names == sorted(names)
        assert "" not in query_of(canonical).split("&")
    assert host_of(canonical) == host_of(judgement.location)


@given(queries())
def test_sorting_keeps_every_piece_and_the_order_of_equal_names(query):
    pieces = [piece for piece in query.split("&") if piece]
    kept = query_of(urls.judge(f"https://h/?{query}").canonical).split("&")
    assert sorted(kept) == sorted(pieces or [""])
    for name in {piece.partition("=")[0] for piece in pieces}:
        assert [p for p in kept if p.partition("=")[0] == name] == [
            p for p in pieces if p.partition("=")[0] == name
        ]


@given(addresses())
def test_a_fragment_does_not_change_the_canonical_form(url):
    judgement = judged(url.partition("#")[0])
    other = judged(url.partition("#")[0] + "#top")
    if judgement is not None and other is not None:
        assert other.canonical == judgement.canonical
        assert other.location.endswith("#top")


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
