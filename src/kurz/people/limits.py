"""Rate limits by GCRA: which there are, and who is counted.

GCRA keeps one instant per subject: when the next request would be due if all came evenly. A request
may come early by the length of the whole burst. Every store counts in whole microseconds, so that
all give the same answers. The shared stores are in `cache` and `storage`.
"""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple, Protocol

from kurz.breaker import Breaker
from kurz.errors import Limited
from kurz.rates import DEFAULT_RATES, SECOND, Rate

MAX_SUBJECTS = 100_000  # in memory, some 20 MB; beyond that, the oldest are dropped
DEADLINE_SECONDS = 0.02  # for a shared store; an answer of kurz takes less

# A due time this much further ahead than its rate allows was written before the clock was set back:
# without this rule its subject would wait until then.
SKEW_MICROS = 60 * SECOND

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Policy:
    """A rate under the name that clients see."""

    name: str
    rate: Rate


class LimitClass(StrEnum):
    """What is limited; the comments say who is charged."""

    ANONYMOUS_CREATE = "anonymous-create"  # address
    ACCOUNT_CREATE = "account-create"  # account
    WRITE = "write"  # account; other requests that change something
    STORED_ANSWERS = "stored-answers"  # account or address; answers to an Idempotency-Key
    SIGN_IN_ACCOUNT = "sign-in-account"  # e-mail address, whether or not it has an account
    SIGN_IN_ADDRESS = "sign-in-address"  # address
    SIGN_IN_NEWCOMER = "sign-in-newcomer"  # e-mail and site, if the e-mail has no attempts left
    SIGN_IN_NEWCOMER_TOTAL = "sign-in-newcomer-total"  # e-mail; the same from all sites
    SIGN_IN_DEVICE = "sign-in-device"  # browser that signed in before
    SIGN_IN_KNOWN = "sign-in-known"  # address; such browsers, and passwords that are confirmed
    REAUTHENTICATE = "reauthenticate"  # account; the current password, of a signed-in person
    REGISTER = "register"  # address
    REDEEM = "redeem"  # address; links that work once: set-up, a new password, an invitation
    BULK = "bulk"  # account; many links in one request, and imports
    BULK_ITEMS = "bulk-items"  # account; links changed by bulk requests, claims, tags
    CLAIM = "claim"  # account
    REPORT = "report"  # address; reports of abuse
    CHECK = "check"  # account; checks of destinations that do not wait until they are due
    VERIFY = "verify"  # account; lookups of the TXT record of a domain
    AVAILABILITY = "availability"  # account; whether a code is free: no faster than by visiting it
    MISS = "miss"  # address; short links that do not exist


# The shorter period comes first: see `Limits.check`.
POLICIES: Mapping[LimitClass, tuple[str, ...]] = {
    **{class_: (class_.value,) for class_ in LimitClass},
    LimitClass.ANONYMOUS_CREATE: ("create", "create-daily"),
    LimitClass.SIGN_IN_ADDRESS: ("sign-in",),
}

LimitTable = Mapping[LimitClass, tuple[Policy, ...]]


def limit_table(rates: Mapping[str, Rate | None]) -> LimitTable:
    """Skips policies whose rate is None."""
    return {
        class_: tuple(Policy(name, rate) for name in names if (rate := rates[name]) is not None)
        for class_, names in POLICIES.items()
    }


LIMITS = limit_table(DEFAULT_RATES)


# Policies that several instances share even if that needs a write to their database.
WORTH_A_WRITE = frozenset(
    name
    for class_ in (
        LimitClass.ANONYMOUS_CREATE,
        LimitClass.ACCOUNT_CREATE,
        LimitClass.SIGN_IN_ACCOUNT,
        LimitClass.SIGN_IN_ADDRESS,
        LimitClass.SIGN_IN_NEWCOMER,
        LimitClass.SIGN_IN_NEWCOMER_TOTAL,
        LimitClass.SIGN_IN_DEVICE,
        LimitClass.SIGN_IN_KNOWN,
        LimitClass.REAUTHENTICATE,
        LimitClass.BULK,
        LimitClass.BULK_ITEMS,
        LimitClass.CLAIM,
        LimitClass.REPORT,
    )
    for name in POLICIES[class_]
)


class LimitVerdict(NamedTuple):
    """`reset_after_seconds`: until the whole burst is available again. `policy` is empty if nothing
    is limited."""

    is_allowed: bool
    limit: int
    remaining: int
    reset_after_seconds: float
    retry_after_seconds: float
    period_seconds: int
    policy: str = ""


UNLIMITED = LimitVerdict(
    is_allowed=True,
    limit=0,
    remaining=0,
    reset_after_seconds=0.0,
    retry_after_seconds=0.0,
    period_seconds=0,
)


def verdict(rate: Rate, *, is_allowed: bool, backlog_micros: int, cost: int) -> LimitVerdict:
    """The result of a store. The backlog is how far the next due time is ahead of now: with this
    request if it is allowed, without it if not."""
    free = max(rate.capacity_micros - backlog_micros, 0)
    # A refusal that is over by the time it is sent still says to wait.
    wait = 0 if is_allowed else max(cost * rate.interval_micros - free, 1)
    return LimitVerdict(
        is_allowed=is_allowed,
        limit=rate.count,
        remaining=free // rate.interval_micros,
        reset_after_seconds=backlog_micros / SECOND,
        retry_after_seconds=wait / SECOND,
        period_seconds=rate.period_seconds,
    )


def header_fields(verdict: LimitVerdict) -> dict[str, str]:
    """The fields of draft-ietf-httpapi-ratelimit-headers-11 (May 2026), structured lists of policy
    names: `RateLimit-Policy: "create";q=10;w=60` is the quota and its window in seconds,
    `RateLimit: "create";r=7;t=12` is what remains and in how many seconds it is full again. With a
    Retry-After, `t` is the same moment."""
    if not verdict.policy:
        return {}
    reset = math.ceil(verdict.retry_after_seconds or verdict.reset_after_seconds)
    fields = {
        "ratelimit-policy": f'"{verdict.policy}";q={verdict.limit};w={verdict.period_seconds}',
        "ratelimit": f'"{verdict.policy}";r={verdict.remaining};t={reset}',
    }
    if not verdict.is_allowed:
        fields["retry-after"] = str(math.ceil(verdict.retry_after_seconds))
    return fields


class TooManyRequests(Limited):
    title = "Too many requests"
    retry_after_seconds: int

    def __init__(self, verdict: LimitVerdict) -> None:
        self.policy = verdict.policy
        self.limit = verdict.limit
        self.remaining = verdict.remaining
        self.reset_after_seconds = math.ceil(verdict.reset_after_seconds)
        self.retry_after_seconds = math.ceil(verdict.retry_after_seconds)
        self.header_fields = header_fields(verdict)
        seconds = self.retry_after_seconds
        wait = "1 second" if seconds == 1 else f"{seconds} seconds"
        super().__init__(f"Too many requests. Try again in {wait}.", retry_after_seconds=seconds)


class LimitsUnavailable(Exception):
    """A shared store does not answer. `FallbackLimits` handles it; other code never sees it."""


class LimitStore(Protocol):
    async def hit(self, key: str, rate: Rate, cost: int = 1) -> LimitVerdict:
        """Charges the key, atomically for all processes that share the store; a refused hit costs
        nothing. `cost` is at least 1, and one above the rate's count is always refused. An outage
        raises `LimitsUnavailable`."""


class Limits:
    """What the rest of kurz calls before it does something that is limited."""

    def __init__(self, store: LimitStore, table: LimitTable = LIMITS) -> None:
        self._store = store
        self._table = table

    async def check(self, class_: LimitClass, subject: str, cost: int = 1) -> LimitVerdict:
        """Charges every rate of the class and returns the tightest verdict, or raises
        `TooManyRequests`. The first refusal ends it, so the order matters: the minute refuses often
        and then the day is not charged, and a minute that was charged needlessly recovers soon. A
        cost above the whole rate takes all of it: otherwise waiting would never help."""
        verdicts = []
        for policy in self._table[class_]:
            key, most = f"{policy.name}:{subject}", policy.rate.count
            found = await self._store.hit(key, policy.rate, min(cost, most))
            found = found._replace(policy=policy.name)
            if not found.is_allowed:
                raise TooManyRequests(found)
            verdicts.append(found)
        return min(
            verdicts,
            key=lambda found: (found.remaining, -found.reset_after_seconds),
            default=UNLIMITED,
        )


class NullLimits(Limits):
    """Rate limits are off: nothing is counted, and no header is sent."""

    def __init__(self) -> None:
        """Needs no store."""

    async def check(self, class_: LimitClass, subject: str, cost: int = 1) -> LimitVerdict:  # noqa: ARG002
        return UNLIMITED


def monotonic_micros() -> int:
    return time.monotonic_ns() // 1000


class MemoryLimits:
    """The `LimitStore` of a single process. Our own code, because throttled-py takes no clock, has
    a fixed rate per object, and costs 9 µs per hit instead of 4."""

    def __init__(
        self, now_micros: Callable[[], int] = monotonic_micros, max_subjects: int = MAX_SUBJECTS
    ) -> None:
        self._now_micros = now_micros
        self._max_subjects = max_subjects
        # A plain dict searches for its first key among all removed ones before it.
        self._due_at: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._due_at)

    async def hit(self, key: str, rate: Rate, cost: int = 1) -> LimitVerdict:
        now = self._now_micros()
        before = max(self._due_at.get(key, now) - now, 0)
        after = before + cost * rate.interval_micros
        is_allowed = after <= rate.capacity_micros
        if is_allowed:
            self._due_at[key] = now + after
            self._trim(now)
        backlog = after if is_allowed else before
        return verdict(rate, is_allowed=is_allowed, backlog_micros=backlog, cost=cost)

    def _trim(self, now: int) -> None:
        """Checks the two oldest entries: one that is past due can be dropped. Others go to the end,
        so that all are checked before the table has grown by half."""
        for _ in range(min(2, len(self._due_at))):
            key, due_at = self._due_at.popitem(last=False)
            if due_at > now:
                self._due_at[key] = due_at
        if len(self._due_at) > self._max_subjects:
            self._due_at.popitem(last=False)


class FallbackLimits:
    """The shared store while it answers in time; otherwise the local one, so that limits still
    apply. A shared store that is down is not asked for a while (`Breaker`).

    `processes` share a limit while each counts for itself."""

    def __init__(
        self,
        shared: LimitStore,
        local: LimitStore,
        *,
        deadline_seconds: float = DEADLINE_SECONDS,
        processes: int = 1,
        now_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shared = shared
        self._local = local
        self._deadline_seconds = deadline_seconds
        self._processes = processes
        self._breaker = Breaker("shared rate limits", now_seconds=now_seconds)

    async def hit(self, key: str, rate: Rate, cost: int = 1) -> LimitVerdict:
        if self._breaker.may_try():
            try:
                async with asyncio.timeout(self._deadline_seconds):
                    found = await self._shared.hit(key, rate, cost)
            except (LimitsUnavailable, TimeoutError) as error:
                self._breaker.note_failure(error)
            else:
                self._breaker.note_success()
                return found
        share = max(rate.count // self._processes, 1)
        return await self._local.hit(key, Rate(share, rate.period_seconds), min(cost, share))


class PolicyLimits:
    """The shared store for some policies, the local one for the others."""

    def __init__(self, shared: LimitStore, local: LimitStore, policies: frozenset[str]) -> None:
        self._shared = shared
        self._local = local
        self._policies = policies

    async def hit(self, key: str, rate: Rate, cost: int = 1) -> LimitVerdict:
        is_shared = key.partition(":")[0] in self._policies
        return await (self._shared if is_shared else self._local).hit(key, rate, cost)


def subject_of_address(address: str) -> str:
    """Who is counted for an address: an IPv6 network of 64 bits is one customer. Text that is not
    an address is one subject too; otherwise omitting it would bypass every limit."""
    return _network_of(address, 64)


def site_of_address(address: str) -> str:
    """Like `subject_of_address`, but an IPv6 network of 48 bits, which is the most that one
    customer usually gets: it holds 65,536 networks of 64 bits."""
    return _network_of(address, 48)


def _network_of(address: str, bits: int) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return UNKNOWN
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return f"{IPv6Address(int(parsed) >> (128 - bits) << (128 - bits))}/{bits}"


def hashing(secret: bytes) -> Callable[[str], str]:
    """Hashes keys for shared stores: nobody can read e-mail addresses or visitors' addresses there,
    nor find them by trying. Processes that share limits have the same secret."""
    keyed = blake2b(digest_size=16, key=secret)

    def hashed(key: str) -> str:
        digest = keyed.copy()  # cheaper than starting with the secret each time
        digest.update(key.encode(errors="replace"))
        return digest.hexdigest()

    return hashed
