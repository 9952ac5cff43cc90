"""Which addresses may be called: the table at its edges, and what hides in IPv6."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.inside_urls import NETWORKS_V4
from kurz.outbound.addresses import REFUSED_V4, REFUSED_V6, AddressPolicy

POLICY = AddressPolicy()

# Written out again, so that a line lost from the code's table is missed.
V6 = [
    "::/8",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "200::/7",
    "400::/6",
    "800::/5",
    "1000::/4",
    "2001::/23",
    "2001::/32",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "4000::/2",
    "5f00::/16",
    "8000::/1",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::a9fe:a9fe",
]
# Said to be global by the standard library, of one version or another.
DECEIVING = [
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "192.0.0.9",
    "192.88.99.1",
    "224.0.0.1",
    "fec0::1",
    "ff02::1",
    "168.63.129.16",
    "5f00::1",
    "3fff::1",
    "::7f00:1",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.9.9.9",
    "93.184.216.34",
    "172.15.255.255",
    "172.32.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "192.0.1.0",
    "192.0.3.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2a00:1450::1",
    "2001:200::",
    "2003::",
    "3ffe:ffff::1",
    "2620:4f:7fff:ffff::",
    "2620:4f:8001::",
]


def _edges(network: IPv4Network | IPv6Network) -> set[IPv4Address | IPv6Address]:
    middle = network[network.num_addresses // 2]
    return {network[0], network[-1], middle}


@pytest.mark.parametrize("text", [*NETWORKS_V4, *V6])
def test_a_network_is_refused_from_its_first_address_to_its_last(text):
    assert [it for it in _edges(ip_network(text)) if POLICY.allows(it)] == []


@pytest.mark.parametrize("text", NETWORKS_V4)
def test_so_it_is_inside_an_ipv6_address(text):
    edges = [int(it) for it in _edges(ip_network(text))]
    hidden = [IPv6Address((0xFFFF << 32) + it) for it in edges]  # mapped
    hidden += [IPv6Address(it) for it in edges]  # compatible
    hidden += [IPv6Address((0xFFFF << 48) + it) for it in edges]  # translated
    hidden += [IPv6Address((0x64FF9B << 96) + it) for it in edges]  # NAT64
    hidden += [IPv6Address((0x64FF9B0001 << 80) + it) for it in edges]  # NAT64 of one's own
    hidden += [IPv6Address((0x2002 << 112) + (it << 80)) for it in edges]  # 6to4
    hidden += [IPv6Address((0x20010000 << 96) + (it ^ 0xFFFFFFFF)) for it in edges]  # Teredo
    assert [it for it in hidden if POLICY.allows(it)] == []


@pytest.mark.parametrize("text", NETWORKS_V4)
def test_its_neighbours_are_public_unless_they_are_refused_themselves(text):
    network = ip_network(text)
    others = [ip_network(it) for it in NETWORKS_V4 if it != text]
    for number in (int(network[0]) - 1, int(network[-1]) + 1):
        if 0 <= number < 2**32:
            neighbour = IPv4Address(number)
            assert POLICY.allows(neighbour) == (not any(neighbour in it for it in others))


@pytest.mark.parametrize(
    "text", [*METADATA, *DECEIVING, "fe80::1%eth0", "2606:4700::1%1", "::", "::1"]
)
def test_these_are_never_called(text):
    assert not POLICY.allows(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_these_are_public(text):
    address = ip_address(text)
    assert POLICY.allows(address)
    if isinstance(address, IPv4Address):
        assert POLICY.allows(IPv6Address(f"::ffff:{text}"))


def test_the_tables_are_the_ones_above():
    assert {str(it) for it in REFUSED_V4} == set(NETWORKS_V4)
    assert {str(it) for it in REFUSED_V6} <= set(V6)


def test_what_the_operator_allows_is_called_and_its_neighbours_are_not():
    policy = AddressPolicy(["10.1.2.0/24", "127.0.0.2", "fd12::/16", "::ffff:192.168.7.0/120"])
    allowed = ["10.1.2.0", "10.1.2.255", "127.0.0.2", "::ffff:10.1.2.3", "fd12::1", "192.168.7.9"]
    assert all(policy.allows(ip_address(text)) for text in allowed)
    refused = [
        "10.1.1.255",
        "10.1.3.0",
        "127.0.0.1",
        "127.0.0.3",
        "fd13::",
        "fd11:ffff::",
        "fd12::1%eth0",
    ]
    refused += [
        "::ffff:10.1.3.0",
        "64:ff9b::a01:203",
        "2002:a01:203::",
        "192.168.8.0",
        "192.168.6.255",
    ]
    assert not any(policy.allows(ip_address(text)) for text in refused)


def test_an_address_is_not_taken_for_its_network():
    with pytest.raises(ValueError, match="host bits"):
        AddressPolicy(["10.1.2.3/2"])


_networks = st.sampled_from([ip_network(text) for text in [*NETWORKS_V4, *V6]])


@given(_networks, st.integers(0, 2**128 - 1), st.lists(_networks, max_size=3))
def test_no_address_of_a_refused_network_passes_unless_it_is_allowed(network, number, allowed):
    address = network[number % network.num_addresses]
    passes = AddressPolicy(str(it) for it in allowed).allows(address)
    mapped = isinstance(address, IPv6Address) and address.ipv4_mapped
    ways = [address, mapped] if mapped else [address]
    if passes and not mapped:
        assert any(address in it for it in allowed)
    if passes and mapped:  # it is that IPv4 address, which may be public
        named = any(mapped in it for it in allowed)
        assert named or not any(mapped in ip_network(it) for it in NETWORKS_V4)
    if any(way in it for it in allowed for way in ways if way.version == it.version) and not mapped:
        assert passes


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_every_ipv4_address_is_public_or_in_the_table(address):
    assert POLICY.allows(address) != any(address in ip_network(text) for text in NETWORKS_V4)
