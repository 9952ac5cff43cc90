"""Which hosts can be a custom domain, and how they are spelled."""

import pytest

from kurz.people.custom_domains import normalise_host
from kurz.people.errors import DomainNotFound, DomainRefused
from support.custom_domains import served


async def test_international_names_are_kept_in_ascii(kurz, dns, service, prove, one):
    verified = await prove(one, "Bücher.EXAMPLE")
    assert verified.host == "xn--bcher-kva.example"
    assert dns.questions == [("udp", "_kurz.xn--bcher-kva.example")]
    assert await service.add(one, "xn--BCHER-kva.example") == verified
    assert await service.get(one, "bücher。example") == verified
    assert await served(kurz) == {"xn--bcher-kva.example": one}


@pytest.mark.parametrize("host", ["kurz.example", "KURZ.example.", "kurz。example"])
async def test_the_own_address_is_nobodys(service, one, host):
    with pytest.raises(DomainRefused):
        await service.add(one, host)
    assert await service.list(one) == []


async def test_what_is_no_host_is_found_nowhere(service, one):
    for act in (service.get, service.verify, service.remove):
        for host in ("", "a b", "\ud800", "'; DROP TABLE domains; --", "x" * 300):
            with pytest.raises(DomainNotFound):
                await act(one, host)


LABEL = "a" * 63
LONGEST = f"{LABEL}.{LABEL}.{LABEL}.{'b' * 51}.com"
GOOD_HOSTS = {
    "go.example.com": "go.example.com",
    " Go.Example.COM. ": "go.example.com",
    "example.test": "example.test",
    "printer.local": "printer.local",
    "r3---sn.example": "r3---sn.example",
    "1.example": "1.example",
    "faß.de": "xn--fa-hia.de",
    "☃.net": "xn--n3h.net",
    "ＧＯ．example": "go.example",
    "نامه\u200cای.com": "xn--mgba3gch31f060k.com",
    LONGEST: LONGEST,
}
BAD_HOSTS = [
    *("", " ", ".", "..", "example", "example.", "localhost", "LOCALHOST.", "a.localhost"),
    *("127.0.0.1", "127.1", "0x7f.1", "2130706433", "１２７.0.0.1", "1.2.3.4.", "1.2.3.4.5"),
    *("[::1]", "::1", "[::ffff:1.2.3.4]", "example.123", "example.0x1"),
    *("example.com:443", "example.com:", "https://example.com", "//example.com", "example.com/"),
    *("example.com?x", "example.com#x", "a@example.com", "a:b@example.com", "example.com\\x"),
    *("*.example.com", "_kurz.example.com", "a_b.example.com", "a._kurz.example.com"),
    *("-a.example.com", "a-.example.com", "a..example.com", ".example.com", "example.com.."),
    *(f"{LABEL}a.example.com", f"{LONGEST}m", "ü" * 60 + ".example.com", "x" * 100_000),
    *("exa mple.com", "exa\tmple.com", "example.com\x00", "a\r\nb.example.com", "\x7f.example.com"),
    *("%65xample.com", "ex％41mple.com", "ex／ample.com", "a：80.example.com", "a＠b.example.com"),
    *("\ud800.example.com", "exa\u00admple.com", "exa\u200bmple.com", "\u202eexample.com"),
    *("example.com,other.com", "example.com;x", "<b>.example.com", "'.example.com", "a|b.example"),
]


@pytest.mark.parametrize("host", GOOD_HOSTS, ids=ascii)
def test_a_host_has_one_spelling(host):
    assert normalise_host(host) == GOOD_HOSTS[host]
    assert normalise_host(GOOD_HOSTS[host]) == GOOD_HOSTS[host]


@pytest.mark.parametrize("host", BAD_HOSTS, ids=lambda host: ascii(host)[:40])
def test_a_hostile_host_is_refused(host):
    with pytest.raises(DomainRefused):
        normalise_host(host)


@pytest.mark.parametrize("host", ["co.uk", "CO.UK.", "github.io", "公司.cn"])
async def test_a_public_suffix_is_nobodys_domain(service, one, host):
    with pytest.raises(DomainRefused, match="public suffix"):
        await service.add(one, host)
    assert await service.list(one) == []
    await service.add(one, f"go.{host}")
