"""Which addresses may be called: those of the public internet, and what the operator adds.

The standard library's `is_global` is not enough: it accepts multicast, 192.0.0.9, a cloud's
168.63.129.16, and IPv6 addresses that carry a private IPv4 address inside.
"""

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

Address = IPv4Address | IPv6Address

REFUSED_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by a provider's customers; a cloud's metadata
        "127.0.0.0/8",  # this machine
        "168.63.129.16/32",  # a cloud's services for its machines
        "169.254.0.0/16",  # this link; metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocols; a cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# All that has been given out so far. NAT64 (64:ff9b::), private, link-local and multicast networks,
# and addresses that only contain an IPv4 address are elsewhere.
PUBLIC_V6: Final = IPv6Network("2000::/3")
REFUSED_V6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocols: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address inside
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
_MAPPED: Final = IPv6Network("::ffff:0:0/96")


class AddressPolicy:
    """`allowed` are networks that may be called although they are not public."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        networks = [_plain_network(text) for text in allowed]
        self._allowed_v4 = tuple(it for it in networks if isinstance(it, IPv4Network))
        self._allowed_v6 = tuple(it for it in networks if isinstance(it, IPv6Network))

    def allows(self, address: Address) -> bool:
        address = plain(address)
        if isinstance(address, IPv4Address):
            if any(address in network for network in self._allowed_v4):
                return True
            return not any(address in network for network in REFUSED_V4)
        if address.scope_id is not None:  # it names an interface of this machine
            return False
        if any(address in network for network in self._allowed_v6):
            return True
        is_refused = any(address in network for network in REFUSED_V6)
        return address in PUBLIC_V6 and not is_refused


def plain(address: Address) -> Address:
    """The IPv4 address that an IPv6 address of the mapped kind is for the system."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def read_address(host: str) -> Address | None:
    """The address that a host is written as; None: it is a name."""
    if not (host[-1:].isdigit() or ":" in host):
        return None  # most hosts are names, and an exception for each is slow
    try:
        return ip_address(host)
    except ValueError:
        return None


def _plain_network(text: str) -> IPv4Network | IPv6Network:
    network = ip_network(text)
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        address = network.network_address.ipv4_mapped
        return IPv4Network((int(address or 0), network.prefixlen - 96))
    return network
