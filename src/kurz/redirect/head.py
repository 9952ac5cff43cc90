"""The head of a request, as the lane reads it."""

from collections.abc import Mapping
from typing import Protocol

from kurz.clicks.trimming import address_of, origin_of
from kurz.people.limits import subject_of_address
from kurz.people.workspaces import Site
from kurz.redirect.entry import prefix_of
from kurz.redirect.repeated import RepeatedParts, split
from kurz.redirect.visits import Visits

# Longer heads take the ASGI path, which decides how long a head may be.
MAX_HEADER_BYTES = 8 * 1024


class Sites(Protocol):
    @property
    def known(self) -> Mapping[bytes, Site]:
        """By exact Host header."""


class Proxies(Protocol):
    def client_of(self, peer: str, forwarded_for: list[bytes]) -> str: ...


class RequestHead:
    """What the head of a request says, whatever its target. Most connections send the same head
    again and again, so it is parsed once. `page_language` is the language of pages, and empty for
    clients that want no pages. `closes`: the connection ends after the answer."""

    __slots__ = (
        "address",
        "closes",
        "epoch",
        "is_custom_domain",
        "page_language",
        "prefix",
        "visit",
    )

    def __init__(
        self,
        epoch: object,
        site: Site,
        visit: bytes,
        address: str,
        page_language: str,
        closes: bool,  # noqa: FBT001  by keyword takes longer
    ) -> None:
        self.closes = closes
        self.epoch = epoch
        self.address = address
        self.prefix = prefix_of(site.workspace_id)
        self.is_custom_domain = site.is_custom_domain
        self.visit = visit
        self.page_language = page_language

    @property
    def subject(self) -> str:
        """Who is charged for a miss."""
        return subject_of_address(self.address)


class HeadReader:
    def __init__(self, sites: Sites, proxies: Proxies, visits: Visits) -> None:
        self._sites = sites
        self._proxies = proxies
        self._visits = visits
        self._parts = RepeatedParts()

    def read(self, peer: str, head: bytes, epoch: object) -> RequestHead | None:
        """`head` is a request without its method and target. None: the request takes the ASGI
        path."""
        if len(head) > MAX_HEADER_BYTES:
            return None
        pieces = split(head)
        repeated = self._parts.find(b"".join(pieces[::3]))
        if repeated is None:
            return None
        host, user_agent, language, flags, page_language, closes = repeated
        site = self._sites.known.get(host)
        if site is None:
            return None
        forwarded_for = [*filter(None, pieces[1::3])]
        referrers = [*filter(None, pieces[2::3])]
        if len(forwarded_for) > 1 or len(referrers) > 1:
            return None
        if forwarded_for:
            peer = self._proxies.client_of(peer, forwarded_for)
        visit = self._visits.describe_trimmed(
            address_of(peer),
            user_agent,
            origin_of(referrers[0]) if referrers else b"",
            language,
            flags,
        )
        return RequestHead(epoch, site, visit, peer, page_language, closes)
