"""The settings of limits: rates (`KURZ_LIMIT_…=10/m`) and how many of something there may be
(`KURZ_LIMIT_…=20`). `settings` reads them."""

from dataclasses import dataclass
from typing import Any

from kurz import setting_values as values
from kurz.rates import DEFAULT_RATES, Rate

MOST = 10**9
MOST_ROWS = 10**7


def _rate(name: str, meaning: str) -> Any:
    return values.setting(DEFAULT_RATES[name], values.rate, meaning)


def _most(default: int, meaning: str) -> Any:
    return values.setting(default, values.integer(0, MOST), f"{meaning}; 0 is unlimited.")


def _rows(default: int, meaning: str) -> Any:
    return values.setting(default, values.integer(1, MOST_ROWS), meaning)


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """A rate's name is that of its policy with `limit_` before it; None: that one is off."""

    limit_create: Rate | None = _rate("create", "Links without an account, for an address.")
    limit_create_daily: Rate | None = _rate("create-daily", "The same over a longer time.")
    limit_account_create: Rate | None = _rate("account-create", "Links, for an account.")
    limit_bulk: Rate | None = _rate("bulk", "Bulk requests and imports, for an account.")
    limit_bulk_items: Rate | None = _rate(
        "bulk-items", "Items in bulk requests and imports, for an account."
    )
    limit_write: Rate | None = _rate("write", "Other requests that change something, per account.")
    limit_stored_answers: Rate | None = _rate(
        "stored-answers", "Answers stored for an Idempotency-Key, for an account or address."
    )
    limit_sign_in: Rate | None = _rate("sign-in", "Sign-ins, for an address.")
    limit_sign_in_account: Rate | None = _rate("sign-in-account", "Sign-ins, for an account.")
    limit_sign_in_newcomer: Rate | None = _rate(
        "sign-in-newcomer", "Further sign-ins to an account whose rate is used up, for an address."
    )
    limit_sign_in_newcomer_total: Rate | None = _rate(
        "sign-in-newcomer-total", "The same, from all addresses together."
    )
    limit_sign_in_device: Rate | None = _rate("sign-in-device", "Sign-ins, for a known browser.")
    limit_sign_in_known: Rate | None = _rate(
        "sign-in-known", "Sign-ins of known browsers and confirmed passwords, for an address."
    )
    limit_reauthenticate: Rate | None = _rate(
        "reauthenticate", "Password changes and account deletions, for an account."
    )
    limit_register: Rate | None = _rate("register", "New accounts, for an address.")
    limit_redeem: Rate | None = _rate("redeem", "Uses of one-time links, for an address.")
    limit_claim: Rate | None = _rate("claim", "Claims, for an account.")
    limit_report: Rate | None = _rate("report", "Reports of abuse, for an address.")
    limit_check: Rate | None = _rate("check", "Requested checks of destinations, for an account.")
    limit_verify: Rate | None = _rate("verify", "Requested checks of domains, for an account.")
    limit_availability: Rate | None = _rate(
        "availability", "Requests that ask whether a code is free, for an account."
    )
    limit_miss: Rate | None = _rate(
        "miss", "Requests for short links that do not exist, for an address."
    )

    limit_workspaces: int = _most(20, "Workspaces that an account may own")
    limit_keys: int = _most(100, "API keys that an account may have")
    limit_slugs: int = _most(10, "Slugs that a workspace may have, former ones included")
    limit_domains: int = _most(50, "Domains that a workspace may have")
    limit_invitations: int = _most(100, "Open invitations that a workspace may have")
    limit_streams: int = _most(5, "Streams of live numbers that an account may have open")
    limit_downloads: int = _most(4, "Downloads that an account may have open in a worker")

    limit_import_rows: int = _rows(1000, "Rows of a file that a person may import over the API.")
    limit_import_rows_allowed: int = _rows(
        100_000, "The same, for people whom an administrator has allowed large imports."
    )

    def rates(self) -> dict[str, Rate | None]:
        """By policy, as `DEFAULT_RATES` has them."""
        return {name: getattr(self, f"limit_{name.replace('-', '_')}") for name in DEFAULT_RATES}
