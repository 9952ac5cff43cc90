"""Addresses that name several hosts. Newer Python versions, and those of some distributions, refuse
to parse them if any host except the first is in brackets."""

from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit


class ManyHosts(NamedTuple):
    account: str  # with the @ behind it
    hosts: list[str]  # as they are written, with their ports
    rest: SplitResult  # the address without them


def split_hosts(url: str) -> ManyHosts:
    """Raises ValueError if this is not a URL."""
    scheme, slashes, behind = url.partition("//")
    if not slashes:
        return ManyHosts("", [""], urlsplit(url))
    end = min((at for at in map(behind.find, "/?#") if at >= 0), default=len(behind))
    account, at, hosts = behind[:end].rpartition("@")
    return ManyHosts(account + at, hosts.split(","), urlsplit(f"{scheme}//{behind[end:]}"))
