"""Referrers and languages, as they are counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.trimming import language_of, origin_of
from kurz.clicks.values import host_of, locale_of


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (b"https://example.com", "example.com"),
        (b"https://www.example.com", "example.com"),
        (b"https://www.example.com:8443", "example.com"),
        (b"http://WWW.Example.COM", "example.com"),
        (b"https://www.com", "www.com"),
        (b"https://wwwx.example", "wwwx.example"),
        (b"https://example.com.", "example.com"),
        (b"http://localhost:3000", "localhost"),
        (b"http://192.168.1.7", "192.168.1.7"),
        (b"http://[2001:db8::1]:8080", "[2001:db8::1]"),
        (b"android-app://com.google.android.gm", "com.google.android.gm"),
        (b"", ""),
        (b"https://", ""),
        (b"https://a b", ""),
        (b"https://a/path", ""),
        (b"https://\xff\xfe", ""),
        (b"example.com", ""),
    ],
)
def test_a_referrer_is_its_host(origin, host):
    assert host_of(origin) == host


@pytest.mark.parametrize(
    ("tag", "locale"),
    [
        (b"de", "de"),
        (b"de-AT", "de-AT"),
        (b"DE-at", "de-AT"),
        (b"zh-Hant-TW", "zh-TW"),
        (b"zh-Hans", "zh"),
        (b"es-419", "es-419"),
        (b"gsw-CH", "gsw-CH"),
        (b"en-US-x-secret", "en-US"),
        (b"de-1996", "de"),
        (b"", ""),
        (b"*", ""),
        (b"d", ""),
        (b"english", ""),
        (b"x-klingon", ""),
        (b"de_DE", ""),
        (b"\xff\xff", ""),
    ],
)
def test_a_language_is_its_tag_with_a_region(tag, locale):
    assert locale_of(tag) == locale


@given(st.binary(max_size=140))
def test_whatever_was_sent_values_are_short_and_plain(data):
    for value in (
        host_of(data),
        locale_of(data),
        host_of(origin_of(data)),
        locale_of(language_of(data)),
    ):
        assert value.isascii()
        assert value.isprintable()
        assert len(value) <= len(data)
        assert "*" not in value
