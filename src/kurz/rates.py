"""How often something may happen, and the default of every rate limit, by the name that clients
see. What a limit counts, and for whom, is in `people.limits`."""

from collections.abc import Mapping
from dataclasses import dataclass

SECOND = 1_000_000  # microseconds
MINUTE_SECONDS = 60
HOUR_SECONDS = 60 * 60
DAY_SECONDS = 24 * 60 * 60

_UNITS = {"d": DAY_SECONDS, "h": HOUR_SECONDS, "m": MINUTE_SECONDS, "s": 1}


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` at once, and then as many again evenly over each period."""

    count: int
    period_seconds: int

    def __str__(self) -> str:
        """As in settings: 10/m, 5/15m."""
        unit = next(name for name, seconds in _UNITS.items() if not self.period_seconds % seconds)
        number = self.period_seconds // _UNITS[unit]
        return f"{self.count}/{'' if number == 1 else number}{unit}"

    @property
    def interval_micros(self) -> int:
        """The time between two evenly spaced requests; rounded up, so the rate is never
        exceeded."""
        return -(-self.period_seconds * SECOND // self.count)

    @property
    def capacity_micros(self) -> int:
        """How far ahead of now the next due time may be."""
        return self.interval_micros * self.count


DEFAULT_RATES: Mapping[str, Rate] = {
    "create": Rate(10, MINUTE_SECONDS),
    "create-daily": Rate(100, DAY_SECONDS),
    "account-create": Rate(60, MINUTE_SECONDS),
    "bulk": Rate(20, MINUTE_SECONDS),
    "bulk-items": Rate(20_000, HOUR_SECONDS),
    "write": Rate(300, MINUTE_SECONDS),
    # More than `account-create` can store in a day, so that only bulks get near it.
    "stored-answers": Rate(100_000, DAY_SECONDS),
    "sign-in": Rate(20, MINUTE_SECONDS),
    "sign-in-account": Rate(5, MINUTE_SECONDS),
    # Otherwise anyone who knows an e-mail address could lock its owner out of new devices. All new
    # addresses together get 1,000 guesses a day, in addition to the 7,200 that everyone shares.
    "sign-in-newcomer": Rate(2, DAY_SECONDS),
    "sign-in-newcomer-total": Rate(1000, DAY_SECONDS),
    "sign-in-device": Rate(20, MINUTE_SECONDS),
    "sign-in-known": Rate(60, MINUTE_SECONDS),
    "reauthenticate": Rate(5, MINUTE_SECONDS),
    "register": Rate(5, MINUTE_SECONDS),
    "redeem": Rate(2, MINUTE_SECONDS),
    "claim": Rate(10, MINUTE_SECONDS),
    "report": Rate(5, HOUR_SECONDS),
    "check": Rate(10, MINUTE_SECONDS),
    "verify": Rate(10, MINUTE_SECONDS),
    "availability": Rate(30, MINUTE_SECONDS),
    "miss": Rate(30, MINUTE_SECONDS),
}
