"""What may be kept of what a visitor sends. Nothing else of it is ever written."""

import re
from functools import lru_cache
from socket import AF_INET, AF_INET6, inet_pton  # ipaddress takes ten times as long

MAX_LANGUAGE_BYTES = 32
MAX_REFERRER_BYTES = 128
MAX_USER_AGENT_BYTES = 256

# No user name, no escapes, no raw UTF-8: browsers send none of these in a referrer.
_ORIGIN = re.compile(
    rb"[A-Za-z][A-Za-z0-9+.-]*://(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?=[/?#]|\Z)"
)
_MAPPED = bytes(10) + b"\xff\xff"
_6TO4 = b"\x20\x02"
_LANGUAGE = re.compile(rb"[ \t]*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)[ \t]*(?=[,;]|\Z)")


def origin_of(referrer: bytes) -> bytes:
    """`scheme://host[:port]` in lower case; empty if there is none. An origin that is too long is
    not cut: the part would be another host."""
    end = referrer.find(b"/", referrer.find(b"://") + 3)
    if not 0 < end <= MAX_REFERRER_BYTES:
        end = MAX_REFERRER_BYTES + 1
    part = referrer[:end]
    # What may hold more than an origin is not remembered.
    is_plain = b"?" not in part and b"#" not in part and b"@" not in part
    return _known_origin(part) if is_plain else _read_origin(part)


def _read_origin(referrer: bytes) -> bytes:
    match = _ORIGIN.match(referrer)
    if match is None or match.end() > MAX_REFERRER_BYTES:
        return b""
    return match[0].lower()


_known_origin = lru_cache(maxsize=1024)(_read_origin)


def language_of(accepted: bytes) -> bytes:
    """The first tag of an Accept-Language: the whole list would identify people too well."""
    return _language_of(accepted[: 2 * MAX_LANGUAGE_BYTES])


@lru_cache(maxsize=1024)
def _language_of(accepted: bytes) -> bytes:
    match = _LANGUAGE.match(accepted)
    return match[1][:MAX_LANGUAGE_BYTES] if match else b""


def address_of(client: str) -> bytes:
    """The 4 or 16 bytes of the address, the same for every spelling; empty if it is not an
    address."""
    try:
        return inet_pton(AF_INET, client)
    except (OSError, ValueError):
        pass
    try:
        address = inet_pton(AF_INET6, client.partition("%")[0])
    except (OSError, ValueError):  # a socket without an address
        return b""
    if address[:12] == _MAPPED:
        return address[12:]
    # The first 48 bits of a 6to4 address hold a whole IPv4 address.
    return address[2:6] if address[:2] == _6TO4 else address


def network_of(address: bytes) -> bytes:
    """The address without the part that identifies a household: /24 of IPv4 (3 bytes), /48 of IPv6
    (6 bytes), empty for an empty one."""
    return address[:3] if len(address) == 4 else address[:6]
