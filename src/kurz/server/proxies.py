"""Which peers are trusted when they name their own client."""

import re
from functools import lru_cache
from ipaddress import ip_address, ip_network
from socket import AF_INET, inet_pton

MAX_HOPS = 16  # longer than any real chain of proxies

# An address alone or with a port: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1]:80. No zone
# (fe80::1%eth0): it means something on one machine only, and may be any text.
_HOP = re.compile(rb"\[([0-9a-fA-F:.]+)\](?::\d+)?|([\d.]+)(?::\d+)?|([0-9a-fA-F:.]+)")


class TrustedProxies:
    def __init__(self, networks: tuple[str, ...]) -> None:
        self._networks = [ip_network(network, strict=False) for network in networks]
        self.include = lru_cache(maxsize=1024)(self._include)

    def client_of(self, peer: str, forwarded_for: list[bytes]) -> str:
        """The address of the client behind the peer. X-Forwarded-For is used only from trusted
        peers, and from its right end: the client may have made up everything to the left of the
        first untrusted address, or of anything that is not an address. RFC 7239's Forwarded is not
        read."""
        if len(forwarded_for) == 1 and b"," not in forwarded_for[0]:  # most often
            return (self.include(peer) and _address_of(forwarded_for[0])) or peer
        client = peer
        hops = b",".join(forwarded_for).rsplit(b",", MAX_HOPS) if forwarded_for else []
        while hops and self.include(client):
            hop = _address_of(hops.pop())
            if hop is None:
                break
            client = hop
        return client

    def _include(self, address: str) -> bool:
        """True if the peer at this address is one of the proxies."""
        try:
            peer = ip_address(address)
        except ValueError:  # a socket without an address
            return False
        peer = getattr(peer, "ipv4_mapped", None) or peer  # as a socket for both families shows it
        return any(peer in network for network in self._networks)


def _address_of(hop: bytes) -> str | None:
    hop = hop.strip(b" \t")
    try:  # the usual form of an IPv4 address; ipaddress takes ten times as long
        usual = hop.decode("latin-1")
        inet_pton(AF_INET, usual)
    except (OSError, ValueError):
        pass
    else:
        return usual
    match = _HOP.fullmatch(hop)
    try:
        address = ip_address((match[1] or match[2] or match[3]).decode()) if match else None
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address) if address else None
