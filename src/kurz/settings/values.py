"""The values of settings. Each function parses a text, or raises `ValueError` that says what it
must be."""

import ipaddress
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import field
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kurz import redis_url as redis_address
from kurz.rates import DAY_SECONDS, Rate
from kurz.scheduling import Window

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# For networks that may be called: the widest private one of IPv4, and more than anyone gets of
# IPv6.
MIN_PREFIX_V4 = 8
MIN_PREFIX_V6 = 16
_PRIVATE_V6 = ipaddress.IPv6Network("fc00::/7")
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_THIS_MACHINE = tuple(
    ipaddress.ip_network(text)
    for text in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "::/127", "fe80::/10")
)
MIN_SECRET_LENGTH = 32
MIN_DISTINCT_CHARACTERS = 10  # 32 random hexadecimal digits practically never have fewer
SAMPLE_WORDS = (
    "change",
    "secret",
    "sample",
    "example",
    "password",
    "default",
    "replace",
    "0123456789",
    "abcdefgh",
    "insert",
    "your-",
    "your_",
    "qwerty",
    "insecure",
)

UNIX = "unix:"  # before the path of a Unix socket
MAX_SOCKET_PATH = 100  # systems allow 103 to 107
MAX_CONTACT_LENGTH = 200

NEVER = timedelta.max
UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
LONGEST = timedelta(days=36500)
MAX_RATE_SECONDS = 30 * DAY_SECONDS

Parse = Callable[[str], Any]


def setting(default: Any, parse: Parse, meaning: str, *, is_secret: bool = False) -> Any:
    """A field of `Settings`."""
    return field(
        default=default, metadata={"parse": parse, "meaning": meaning, "is_secret": is_secret}
    )


def switch(default: str, meaning: str) -> Any:
    """A setting that is on or off."""
    return setting(default, choice("on", "off"), meaning)


def text(value: str) -> str:
    return value


def host(value: str) -> str:
    path = value.removeprefix(UNIX)
    if path != value and not (path.startswith("/") and len(os.fsencode(path)) <= MAX_SOCKET_PATH):
        raise ValueError(
            f"must name a Unix socket by an absolute path of at most {MAX_SOCKET_PATH} bytes, such"
            f" as {UNIX}/run/kurz/kurz.sock"
        )
    return value


def integer(low: int, high: int) -> Parse:
    def parse(value: str) -> int:
        is_number = value.isascii() and value.isdigit() and len(value) <= len(str(high))
        if not is_number or not low <= int(value) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(value)

    return parse


def duration(value: str) -> timedelta:
    found = re.fullmatch(r"([0-9]{1,9})(ms|s|m|h|d)", value)
    if found is None or int(found[1]) * UNITS[found[2]] > LONGEST:
        raise ValueError("must be a time with its unit, such as 100ms, 90s, 15m, 1h or 7d")
    return int(found[1]) * UNITS[found[2]]


def duration_or_never(value: str) -> timedelta:
    if value == "never":
        return NEVER
    try:
        return duration(value)
    except ValueError as error:
        raise ValueError(f"{error}, or never") from None


def show_duration(span: timedelta) -> str:
    """As people write it, in the largest unit that gives a whole number."""
    if span == NEVER:
        return "never"
    for name in reversed(UNITS):
        if span and not span % UNITS[name]:
            return f"{span // UNITS[name]}{name}"
    return "0s"


def rate(value: str) -> Rate | None:
    """None: no limit."""
    if value == "off":
        return None
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{0,5})(s|m|h|d)", value)
    count, number, unit = found.groups() if found else ("0", "0", "s")
    seconds = int(number or 1) * (UNITS[unit] // UNITS["s"])
    if not int(count) or not 0 < seconds <= MAX_RATE_SECONDS:
        raise ValueError("must be a number and a period, such as 10/m, 5/15m or 100/d, or off")
    return Rate(int(count), seconds)


def window(value: str) -> Window:
    """Until `24:00` is until midnight."""
    try:
        start, end = (_time_of_day(item) for item in value.replace("24:00", "00:00").split("-"))
    except ValueError:
        raise ValueError("must be a time range in UTC, such as 02:00-05:00") from None
    if start == end:
        raise ValueError(
            "must begin and end at different times. Remove it if runs may start at any time"
        )
    return Window(start, end)


def _time_of_day(value: str) -> time:
    return datetime.strptime(value.strip(), "%H:%M").time()  # noqa: DTZ007


def choice(*words: str) -> Parse:
    def parse(value: str) -> str:
        if value not in words:
            raise ValueError(f"must be one of: {', '.join(words)}")
        return value

    return parse


def base_url(value: str) -> str:
    from ada_url import normalize_url  # late: few commands use a base URL

    try:
        normal = normalize_url(value)
    except ValueError:
        normal = ""
    parts = urlsplit(normal)
    if parts.scheme not in ("http", "https") or "@" in parts.netloc or not value.isprintable():
        raise ValueError("must be an address such as https://go.example.com")
    if parts.path != "/" or parts.query or parts.fragment:
        raise ValueError("must not have a path: kurz runs at the root of its host")
    return f"{parts.scheme}://{parts.netloc}"


def origins(value: str) -> tuple[str, ...]:
    """As browsers write them in `Origin`."""
    items = tuple(item.strip() for item in value.split(",") if item.strip())
    if items == ("*",):
        return items
    try:
        return tuple(base_url(item) for item in items or (value,))
    except ValueError:
        raise ValueError(
            "must be origins such as https://app.example.com, separated by commas, or *"
        ) from None


def database_url(value: str) -> str:
    if not value.startswith(("postgresql://", "postgres://")):
        raise ValueError("must be a PostgreSQL address, postgresql://user@host/database")
    return value


def database_urls(value: str) -> tuple[str, ...]:
    # An address may name several hosts, separated by commas.
    return tuple(database_url(item) for item in re.split(r"\s*,\s*(?=postgres)", value))


def contact(value: str) -> str:
    value = value.strip()
    if not value or not value.isprintable() or len(value) > MAX_CONTACT_LENGTH:
        raise ValueError(f"must be one line with at most {MAX_CONTACT_LENGTH} characters")
    return value


def networks(value: str) -> tuple[str, ...]:
    if value == "none":
        return ()
    items = tuple(item.strip() for item in value.split(",") if item.strip())
    for item in items:
        try:
            ipaddress.ip_network(item, strict=False)
        except ValueError:
            raise ValueError(
                "must be addresses or networks, separated by commas, or none"
            ) from None
    return items


def called_networks(value: str) -> tuple[str, ...]:
    """Like `networks`, but refuses networks that are wider than anyone can have meant."""
    items = networks(value)
    for item in items:
        try:
            network = _called_network(item)
        except ValueError:
            meant = ipaddress.ip_network(item, strict=False)
            raise ValueError(
                f"must be networks, but {item} is an address inside one: write {meant} to"
                " allow the whole network"
            ) from None
        if not _is_narrow(network):
            raise ValueError(
                f"must be networks of your own, but {item} is too wide: use at least"
                f" /{MIN_PREFIX_V4}, or /{MIN_PREFIX_V6} for IPv6"
            )
    return items


def networks_of_this_machine(items: Iterable[str]) -> list[str]:
    """Networks of this machine itself, or its link."""
    return [item for item in items if any(map(_called_network(item).overlaps, _THIS_MACHINE))]


def _called_network(text: str) -> Network:
    """By its IPv4 addresses, if it contains such. Raises `ValueError`."""
    network = ipaddress.ip_network(text)
    if isinstance(network, ipaddress.IPv6Network) and network.subnet_of(_MAPPED):
        last_bits = int(network.network_address) & 0xFFFF_FFFF
        return ipaddress.IPv4Network((last_bits, network.prefixlen - _MAPPED.prefixlen))
    return network


def _is_narrow(network: Network) -> bool:
    if isinstance(network, ipaddress.IPv4Network):
        return network.prefixlen >= MIN_PREFIX_V4
    return network.prefixlen >= MIN_PREFIX_V6 or network.subnet_of(_PRIVATE_V6)


def ports(value: str) -> tuple[int, ...]:
    try:
        return tuple(integer(1, 65535)(item.strip()) for item in value.split(","))
    except ValueError:
        raise ValueError("must be ports from 1 to 65535, separated by commas") from None


def paths(value: str) -> tuple[Path, ...]:
    items = tuple(Path(item.strip()) for item in value.split(",") if item.strip())
    if not items:
        raise ValueError("must be file paths, separated by commas")
    return items


def check_secret(value: str) -> str:
    """The secret, if it is hard to guess."""
    if len(value) < MIN_SECRET_LENGTH:
        raise ValueError(f"must have at least {MIN_SECRET_LENGTH} characters")
    if not value.isprintable():  # also refuses bytes that are not text
        raise ValueError("must be printable text")
    plain = value.lower()
    is_repeated = value in (value + value)[1:-1]
    is_poor = is_repeated or len(set(value)) < MIN_DISTINCT_CHARACTERS
    if is_poor or any(word in plain for word in SAMPLE_WORDS):
        raise ValueError(
            "must be random, such as the output of `openssl rand -hex 32`; this is a sample"
        )
    return value


def redis_url(value: str) -> str:
    redis_address.parse(value)
    return value


def slug(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?", value):
        raise ValueError("must be the slug of a workspace: a-z, 0-9 and -")
    return value


def name_servers(value: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in value.split(",") if item.strip())
    for item in items:
        address, _, port = item.rpartition("@") if "@" in item else (item, "", "53")
        try:
            ipaddress.ip_address(address)
            integer(1, 65535)(port)
        except ValueError:
            raise ValueError("must be addresses such as 9.9.9.9 or 127.0.0.1@5353") from None
    return items


def recipients(value: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in value.split(",") if item.strip())
    if not items or not all(re.fullmatch(r"age1[0-9a-z]{20,2000}", item) for item in items):
        raise ValueError("must be public keys of age, such as age1…, separated by commas")
    return items


def archive(value: str) -> str:
    """A folder unchanged; a bucket without slashes at the end."""
    if "://" not in value:
        if not value.startswith("/"):  # a server and a command may start in different folders
            raise ValueError(
                "must be an absolute path of a folder, or a bucket: s3://bucket/prefix"
            )
        return value
    if not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()-]+)*/*", value):
        raise ValueError("must be a folder, or a bucket such as s3://bucket/prefix")
    return value.rstrip("/")
