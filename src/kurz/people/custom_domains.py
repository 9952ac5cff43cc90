"""Custom domains: any workspace may add one, and a TXT record proves who owns it."""

import asyncio
import base64
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from ada_url import URL

from kurz.clock import Clock
from kurz.paging import WHOLE, Part
from kurz.people.caps import UNCAPPED
from kurz.people.domains import Domains
from kurz.people.errors import DomainNotFound, DomainNotVerified, DomainRefused, DomainTaken
from kurz.people.receipts import Receipt

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

QUARANTINE = timedelta(days=30)  # how long a removed domain is kept from others
RECORD_LABEL = "_kurz"
RECORD_PREFIX = "kurz-verification="
MAX_LENGTH = 253 - len(RECORD_LABEL + ".")  # so that the record's name still fits into DNS

# All ASCII characters that no host name has. ada-url would parse a port, a path or an escape.
_FORBIDDEN = re.compile(r"[\x00-,/:-@\[-`{-\x7f]")
_JOINERS = re.compile(
    "[\u200c\u200d]"
)  # invisible, but Persian and Indic names are spelt with them
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_IPV4 = re.compile(r"[0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """`verified_at` None: it is not verified yet. `removed_at` is when it was removed; it stays set
    while the workspace wants it back but has not verified it again. `missing_since` is when the
    record of an active domain was first missing; it stays set until the record is back."""

    host: str
    workspace_id: int
    created_at: datetime
    checked_at: datetime | None = None
    verified_at: datetime | None = None
    removed_at: datetime | None = None
    missing_since: datetime | None = None

    @property
    def is_active(self) -> bool:
        """Whether it serves links."""
        return self.verified_at is not None and self.removed_at is None

    @property
    def is_given_up(self) -> bool:
        return self.verified_at is not None and self.removed_at is not None


class TxtRecord(NamedTuple):
    name: str
    value: str


class DomainStore(Protocol):
    """Stores domains. A host is active for at most one workspace, and for no other during the
    quarantine of one that removed it. An outage raises `StoreUnavailable`."""

    async def insert(
        self, domain: Domain, receipt: Receipt | None = None, *, at_most: int = UNCAPPED
    ) -> Domain | None:
        """Stores it, or returns the workspace's existing one; a removed one must be verified again.
        None: another workspace has it, or removed it recently. `CapReached`: the workspace has
        `at_most` others already."""

    async def find(self, workspace_id: int, host: str) -> Domain | None:
        """Also one that was given up."""

    async def confirm(self, seen: Domain, now: datetime) -> Domain | None:
        """Makes it active. None as for `insert`, even if that happened a moment ago.
        `DomainNotFound`: it was removed since it was read."""

    async def doubt(self, seen: Domain, now: datetime) -> None:
        """Notes that the record is missing: it is not active any more."""

    async def miss(self, seen: Domain, now: datetime, *, is_lost: bool) -> bool:
        """Notes that the record is missing; the domain stays active, or not. False: it was checked
        or removed since it was read, and nothing is noted."""

    async def remove(self, workspace_id: int, host: str, now: datetime) -> bool:
        """Removes an active one, and deletes one that never was active. False: there is none."""

    async def list(self, workspace_id: int, part: Part = WHOLE) -> list[Domain]:
        """By name, without removed ones."""

    async def list_unchecked(self, since: datetime, lost_since: datetime) -> Sequence[Domain]:
        """The domains of all workspaces that are not deleted, whose record was last looked up
        before `since`, the longest ago first: active ones, and lost ones whose record is missing
        since `lost_since` or later."""


class TxtLookup(Protocol):
    async def lookup(self, name: str) -> list[str]:
        """The values of the TXT records of a name; none if there is no such name.
        `DomainLookupFailed`: there is no answer, for whatever reason."""


class CustomDomains:
    """`key` makes the values of TXT records: with another one, every domain must be verified again.
    No workspace can have the hosts of `base_url` and `dashboard_url`."""

    def __init__(
        self,
        store: DomainStore,
        lookup: TxtLookup,
        domains: Domains,
        clock: Clock,
        *,
        key: bytes,
        base_url: str | None,
        dashboard_url: str | None = None,
    ) -> None:
        self._store = store
        self._lookup = lookup
        self._domains = domains
        self._clock = clock
        self._key = key
        own = (urlsplit(it).hostname or "" for it in (base_url, dashboard_url) if it)
        self._own_names = frozenset(name.removesuffix(".") for name in own)

    async def add(
        self,
        workspace_id: int,
        host: str,
        receipt: Receipt | None = None,
        *,
        at_most: int = UNCAPPED,
    ) -> Domain:
        host = normalise_host(host)
        if host in self._own_names:
            raise DomainRefused("This is kurz's own host. It cannot be a custom domain.")
        if await asyncio.to_thread(_is_public_suffix, host):  # the list takes a while to load
            raise DomainRefused(
                f"{host} is a public suffix, under which anyone can register names. Use a name"
                f" of your own, such as go.example.{host}."
            )
        wanted = Domain(host=host, workspace_id=workspace_id, created_at=self._clock.now())
        return _not_taken(await self._store.insert(wanted, receipt, at_most=at_most), host)

    async def get(self, workspace_id: int, host: str) -> Domain:
        """Also one that was given up."""
        found = await self._store.find(workspace_id, _name_of(host))
        if found is None:
            raise DomainNotFound("This workspace does not have this domain.")
        return found

    def instructions(self, domain: Domain) -> TxtRecord:
        """The TXT record that proves ownership, different for each workspace."""
        subject = f"{domain.workspace_id}|{domain.host}".encode()
        digest = hmac.digest(self._key, subject, hashlib.sha256)
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return TxtRecord(f"{RECORD_LABEL}.{domain.host}", RECORD_PREFIX + proof)

    async def verify(self, workspace_id: int, host: str) -> Domain:
        """Looks up the record and makes the domain active, or inactive if the record is missing.
        Without an answer, nothing changes."""
        domain = await self.get(workspace_id, host)
        confirmed = await self._prove(domain)
        if confirmed is None:
            await self._store.doubt(domain, self._clock.now())
            self._domains.forget()
            raise _not_verified(domain, self.instructions(domain))
        return confirmed

    async def is_proved(self, domain: Domain) -> bool:
        """Looks up the record and makes the domain active. If the record is missing, or there is no
        answer, nothing changes."""
        return await self._prove(domain) is not None

    async def miss(self, seen: Domain, grace: timedelta) -> bool:
        """Notes that the record is missing. True: it is missing for so long that the domain, which
        was active, is no longer served."""
        now = self._clock.now()
        is_lost = seen.missing_since is not None and seen.missing_since <= now - grace
        is_noted = await self._store.miss(seen, now, is_lost=is_lost)
        if not (is_noted and is_lost and seen.is_active):
            return False
        self._domains.forget()
        return True

    async def _prove(self, domain: Domain) -> Domain | None:
        """None: the record is missing."""
        record = self.instructions(domain)
        values = await self._lookup.lookup(record.name)
        if not _is_among(record.value, values):
            return None
        confirmed = await self._store.confirm(domain, self._clock.now())
        self._domains.forget()
        return _not_taken(confirmed, domain.host)

    async def remove(self, workspace_id: int, host: str) -> None:
        """It is no longer served. If it was active, other workspaces must wait; this one gets it
        back by verifying it again."""
        if not await self._store.remove(workspace_id, _name_of(host), self._clock.now()):
            raise DomainNotFound("This workspace does not have this domain.")
        self._domains.forget()

    async def is_allowed(self, host: str) -> bool:
        """Whether a proxy may get a certificate for it. Unknown hosts cost no query."""
        return host.lower().removesuffix(".") in await self._domains.sites()

    async def list(self, workspace_id: int, part: Part = WHOLE) -> "list[Domain]":
        return await self._store.list(workspace_id, part)

    async def list_unchecked(self, since: datetime, lost_since: datetime) -> Sequence[Domain]:
        """As in the store."""
        return await self._store.list_unchecked(since, lost_since)


def normalise_host(host: str) -> str:
    """One spelling for each name: lower case, in ASCII, no dot at the end."""
    host = host.strip()
    if _FORBIDDEN.search(host) or not _JOINERS.sub("", host).isprintable():
        raise DomainRefused(
            "Enter only the name, such as go.example.com, without https://, port or path."
        )
    name = _to_ascii(host)
    if _IPV4.fullmatch(name):
        raise DomainRefused("An IP address cannot be a custom domain.")
    if not _NAME.fullmatch(name) or len(name) > MAX_LENGTH:
        raise DomainRefused("This is not a valid host name. Check it for typos.")
    if "." not in name or name.endswith(".localhost"):
        raise DomainRefused("Only names in the public DNS can be verified, such as go.example.com.")
    return name


def _is_public_suffix(name: str) -> bool:
    """Such as `co.uk` or `github.io`: anyone can register names below it."""
    return _suffixes().publicsuffix(name) == name


@cache
def _suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList  # slow, so only when a domain is added

    return PublicSuffixList()


def _to_ascii(host: str) -> str:
    """As browsers do it, by the WHATWG standard; empty if it is not a host."""
    try:
        name: str = URL(f"https://{host}/").hostname
    except ValueError:
        return ""
    return name.removesuffix(".")


def _name_of(host: str) -> str:
    """The name to look up; text that cannot be a domain matches nothing."""
    try:
        return normalise_host(host)
    except DomainRefused:
        raise DomainNotFound("This workspace does not have this domain.") from None


def _is_among(wanted: str, values: list[str]) -> bool:
    return any(hmac.compare_digest(wanted.encode(), value.strip().encode()) for value in values)


def _not_verified(domain: Domain, record: TxtRecord) -> DomainNotVerified:
    lost = " The domain no longer serves your links." if domain.is_active else ""
    return DomainNotVerified(
        f"There is no TXT record at {record.name} with the value {record.value}.{lost} Add it,"
        " wait a few minutes, then verify again.",
        record_name=record.name,
        record_value=record.value,
    )


def _not_taken(domain: Domain | None, host: str) -> Domain:
    if domain is None:
        raise DomainTaken(
            f"Another workspace has verified {host}, or removed it less than {QUARANTINE.days}"
            " days ago."
        )
    return domain
