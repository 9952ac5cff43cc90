"""Which peers are believed when they say what their own client used."""

from functools import lru_cache
from ipaddress import ip_address, ip_network


class TrustedProxies:
    def __init__(self, networks: tuple[str, ...]) -> None:
        self._networks = [ip_network(network, strict=False) for network in networks]
        self.include = lru_cache(maxsize=1024)(self._include)

    def _include(self, address: str) -> bool:
        """True if the peer at this address is one of the proxies."""
        try:
            peer = ip_address(address)
        except ValueError:  # a socket without an address
            return False
        peer = getattr(peer, "ipv4_mapped", None) or peer  # as a socket for both families shows it
        return any(peer in network for network in self._networks)
