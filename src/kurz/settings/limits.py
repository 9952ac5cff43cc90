"""The settings of limits: rates (`KURZ_LIMIT_…=10/m`) and how many of something there may be
(`KURZ_LIMIT_…=20`). `settings` reads them."""

from dataclasses import dataclass
from typing import Any

from kurz.rates import DEFAULT_RATES, Rate
from kurz.settings import values

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

    limit_create: Rate | None = _rate("create", "Links created without an account, per IP address.")
    limit_create_daily: Rate | None = _rate("create-daily", "The same, over a longer time.")
    limit_account_create: Rate | None = _rate("account-create", "Links created, per account.")
    limit_bulk: Rate | None = _rate("bulk", "Bulk requests and imports, per account.")
    limit_bulk_items: Rate | None = _rate(
        "bulk-items", "Items in bulk requests and imports, per account."
    )
    limit_write: Rate | None = _rate("write", "Other requests that change something, per account.")
    limit_stored_answers: Rate | None = _rate(
        "stored-answers", "Answers stored for an Idempotency-Key, per account or IP address."
    )
    limit_sign_in: Rate | None = _rate("sign-in", "Sign-ins, per IP address.")
    limit_sign_in_account: Rate | None = _rate("sign-in-account", "Sign-ins, per account.")
    limit_sign_in_newcomer: Rate | None = _rate(
        "sign-in-newcomer",
        "Further sign-ins to an account that has reached its rate, per IP address.",
    )
    limit_sign_in_newcomer_total: Rate | None = _rate(
        "sign-in-newcomer-total", "The same, from all IP addresses together."
    )
    limit_sign_in_device: Rate | None = _rate("sign-in-device", "Sign-ins, per known browser.")
    limit_sign_in_known: Rate | None = _rate(
        "sign-in-known", "Sign-ins from known browsers and password confirmations, per IP address."
    )
    limit_reauthenticate: Rate | None = _rate(
        "reauthenticate", "Password changes and account deletions, per account."
    )
    limit_register: Rate | None = _rate("register", "New accounts, per IP address.")
    limit_redeem: Rate | None = _rate("redeem", "Uses of one-time links, per IP address.")
    limit_claim: Rate | None = _rate("claim", "Claims, per account.")
    limit_report: Rate | None = _rate("report", "Abuse reports, per IP address.")
    limit_check: Rate | None = _rate("check", "Requested destination checks, per account.")
    limit_verify: Rate | None = _rate("verify", "Requested domain checks, per account.")
    limit_availability: Rate | None = _rate(
        "availability", "Requests that check whether a code is available, per account."
    )
    limit_miss: Rate | None = _rate(
        "miss", "Requests for short links that do not exist, per IP address."
    )

    limit_workspaces: int = _most(20, "Workspaces an account can own")
    limit_keys: int = _most(100, "API keys an account can have")
    limit_slugs: int = _most(10, "Slugs a workspace can have, including former ones")
    limit_domains: int = _most(50, "Domains a workspace can have")
    limit_invitations: int = _most(100, "Open invitations a workspace can have")
    limit_streams: int = _most(5, "Live streams an account can have open")
    limit_downloads: int = _most(4, "Downloads an account can have open per worker")

    limit_import_rows: int = _rows(1000, "Rows of a file that an account can import over the API.")
    limit_import_rows_allowed: int = _rows(
        100_000, "The same, for accounts with large imports allowed."
    )

    def rates(self) -> dict[str, Rate | None]:
        """By policy, as in `DEFAULT_RATES`."""
        return {name: getattr(self, f"limit_{name.replace('-', '_')}") for name in DEFAULT_RATES}
