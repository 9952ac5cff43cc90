"""Browsers that have signed in before: a signed cookie, which is valid for one account only."""

import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta

from kurz.clock import Clock
from kurz.people.keyring import Keys

LIFE = timedelta(days=180)
_COOKIE = re.compile(
    r"(1\.([1-9][0-9]{0,15})\.([0-9]{1,15})\.([0-9]{1,12})\.([A-Za-z0-9_-]{22}))\.([0-9a-f]{64})"
)


@dataclass(frozen=True, slots=True)
class Device:
    """`epoch` is the account's at the time of issue: a new password, another role or being disabled
    ends it. Its attempts are counted by `id`."""

    account_id: int
    epoch: int
    id: str


class Devices:
    """The signature covers the e-mail address, which is not in the cookie. So it is checked before
    any lookup, and the cookie has no effect for another account."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock

    def issue(self, account_id: int, epoch: int, email: str) -> str:
        """A new one for each sign-in, with its own limit."""
        issued_at = int(self._clock.now().timestamp())
        text = f"1.{account_id}.{epoch}.{issued_at}.{secrets.token_urlsafe(16)}"
        return f"{text}.{_sign(text, email, self._keys.current)}"

    def read(self, cookie: str, email: str) -> Device | None:
        """None: not ours, not for this address, or too old."""
        match = _COOKIE.fullmatch(cookie)
        if match is None:
            return None
        text, account_id, epoch, issued_at, device_id, signature = match.groups()
        age_seconds = self._clock.now().timestamp() - int(issued_at)
        signatures = (_sign(text, email, key) for key in self._keys.accepted)
        if not any(hmac.compare_digest(it, signature) for it in signatures):
            return None
        if age_seconds >= LIFE.total_seconds():
            return None
        return Device(int(account_id), int(epoch), device_id)


def _sign(text: str, email: str, key: bytes) -> str:
    signed = f"{text}.{email}".encode(errors="surrogatepass")
    return hmac.digest(key, signed, "sha256").hex()
