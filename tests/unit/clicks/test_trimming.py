"""What may be kept of a visitor's headers and address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.trimming import address_of, language_of, network_of, origin_of


@pytest.mark.parametrize(
    ("referrer", "origin"),
    [
        (b"https://example.com/path?query#fragment", b"https://example.com"),
        (b"https://example.com", b"https://example.com"),
        (b"http://Example.COM:8080?q", b"http://example.com:8080"),
        (b"HTTPS://[2001:DB8::1]:443/", b"https://[2001:db8::1]:443"),
        (b"android-app://com.example.mail/", b"android-app://com.example.mail"),
        (b"https://example.com#secret", b"https://example.com"),
        (b"https://user:secret@example.com/", b""),
        (b"https://example.com\\@other.example/", b""),
        (b"https://example.com:secret/", b""),
        (b"https://ex%61mple.com/", b""),
        ("https://exämple.com/".encode(), b""),
        (b"https:///path", b""),
        (b"//example.com/", b""),
        (b"example.com/path", b""),
        (b"javascript:alert(1)", b""),
        (b" https://example.com/", b""),
        (b"https://exam\nple.com/", b""),
        (b"https://example.com\n", b""),
        (b"about:blank", b""),
        (b"", b""),
        (b"https://" + b"a" * 120, b"https://" + b"a" * 120),
        (b"https://" + b"a" * 120 + b"/", b"https://" + b"a" * 120),
        (b"https://" + b"a" * 121, b""),
        (b"https://" + b"a" * 100_000, b""),
    ],
)
def test_only_the_origin_of_a_referrer_is_kept(referrer, origin):
    assert origin_of(referrer) == origin


@given(st.binary(max_size=300))
def test_no_origin_has_a_path_a_query_or_a_name(referrer):
    origin = origin_of(b"https://" + referrer)
    assert not set(origin.removeprefix(b"https://")) & set(b"/?#@\\% \n\0")
    assert len(origin) <= 128
    assert origin_of(origin) == origin


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        (b"de-AT,de;q=0.9,en;q=0.8", b"de-AT"),
        (b"en", b"en"),
        (b" fr ;q=1", b"fr"),
        (b"zh-Hant-TW", b"zh-Hant-TW"),
        (b"*", b""),
        (b"", b""),
        (b"<script>", b""),
        (b"\xff\xfe", b""),
        (b"en\n", b""),
    ],
)
def test_only_the_first_language_is_kept(accepted, language):
    assert language_of(accepted) == language


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("203.0.113.77", bytes([203, 0, 113])),
        ("0.0.0.0", bytes(3)),  # noqa: S104  not bound to
        ("2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", bytes.fromhex("20010db8aaaa")),
        ("::1", bytes(6)),
        ("fe80::1%eth0", bytes.fromhex("fe8000000000")),
        ("::ffff:203.0.113.77", bytes([203, 0, 113])),
        ("::ffff:cb00:714d", bytes([203, 0, 113])),
        ("2002:cb00:714d::1", bytes([203, 0, 113])),  # 6to4: the /48 is all of 203.0.113.77
        ("", b""),
        ("unix:", b""),
        ("203.0.113.77:80", b""),
        ("203.0.113", b""),
        ("testclient", b""),
        ("203.0.113.77\0", b""),
    ],
)
def test_an_address_is_cut_to_its_network(client, network):
    assert network_of(address_of(client)) == network


def test_every_spelling_of_an_address_is_the_same_address():
    spellings = ["203.0.113.77", "::ffff:203.0.113.77", "::FFFF:cb00:714d"]
    assert len({address_of(spelling) for spelling in spellings}) == 1
    assert address_of("fe80::1%eth0") == address_of("fe80:0::1")
