"""The settings of how much an instance does at once, and what it does if it cannot write."""

from dataclasses import dataclass

from kurz.settings import values
from kurz.settings.values import setting


@dataclass(frozen=True, kw_only=True)
class LoadSettings:
    creates_in_flight: int = setting(
        256,
        values.integer(1, 10_000),
        "Creates in progress per worker; more get 503 with Retry-After.",
    )
    requests_in_flight: int = setting(
        128,
        values.integer(1, 10_000),
        "Other API requests in progress per worker; more get 503.",
    )
    transfers_in_flight: int = setting(
        8,
        values.integer(1, 1000),
        "Imports and exports in progress per worker; more get 503.",
    )
    min_free_megabytes: int = setting(
        64,
        values.integer(0, 1_000_000),
        "MiB that must be free on the data folder's disk to record clicks; 0: no limit.",
    )
    ready_needs_writes: str = values.switch(
        "off", "`on`: /readyz answers 503 while clicks or links cannot be written."
    )
