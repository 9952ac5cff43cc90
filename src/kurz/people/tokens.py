"""Session tokens: JWT, HS256, for 24 hours. Only what we issued, as we issued it, is accepted."""

import contextlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from kurz.clock import Clock
from kurz.people.errors import CredentialRefused
from kurz.people.keyring import Keys

ALGORITHM = "HS256"
TYPE = "kurz+jwt"
ISSUER = "kurz"
AUDIENCE = "kurz-api"
LIFE = timedelta(hours=24)
LEEWAY_SECONDS = 30  # between the clocks of instances
MAX_LENGTH = 1024
_HEADER = {"alg": ALGORITHM, "typ": TYPE}
_ACCOUNT_ID = re.compile(r"[1-9][0-9]{0,15}")  # ids are below 2**53
_REFUSED = "This token is not valid or has expired. Sign in again."


@dataclass(frozen=True, slots=True)
class TokenClaims:
    """`epoch` is the account's at the time of issue: a later one ends the token. From `expires_at`
    on no instance accepts it, whatever its clock says: the leeway is included."""

    account_id: int
    epoch: int
    token_id: str
    expires_at: int


class Tokens:
    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._keys = [OctKey.import_key(key) for key in keys.accepted]
        self._clock = clock
        self._registry = jwt.JWTClaimsRegistry(
            now=self._seconds,
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": ISSUER},
            aud={"essential": True, "value": AUDIENCE},
            sub={"essential": True},
            iat={"essential": True},
            exp={"essential": True},
            jti={"essential": True},
            epoch={"essential": True},
        )

    def issue(self, account_id: int, epoch: int) -> tuple[str, datetime]:
        """A token, and when it ends."""
        now = self._clock.now().replace(microsecond=0)
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": str(account_id),
            "iat": int(now.timestamp()),
            "exp": int((now + LIFE).timestamp()),
            "jti": secrets.token_urlsafe(16),
            "epoch": epoch,
        }
        return _sign(claims, self._keys[0]), now + LIFE

    def read(self, token: str) -> TokenClaims:
        """The content of a token, if it is ours and has not expired; otherwise
        `CredentialRefused`."""
        if len(token) > MAX_LENGTH:
            raise CredentialRefused(_REFUSED)
        *others, last = self._keys
        for key in others:
            with contextlib.suppress(CredentialRefused):
                return self._read(token, key)
        return self._read(token, last)

    def _read(self, token: str, key: OctKey) -> TokenClaims:
        try:
            decoded = jwt.decode(token, key, algorithms=[ALGORITHM])
            if decoded.header != _HEADER:  # no `kid`, `jku`, `crit` or other type is ever ours
                raise CredentialRefused(_REFUSED)
            self._registry.validate(decoded.claims)
            claims = _claims(decoded.claims)
            # Exactly as issued: base64 and JSON have many spellings of the same bytes and values.
            if not hmac.compare_digest(_sign(decoded.claims, key).encode(), token.encode()):
                raise CredentialRefused(_REFUSED)
            return claims
        except (JoseError, ValueError, TypeError, AttributeError, RecursionError):
            raise CredentialRefused(_REFUSED) from None

    def _seconds(self) -> int:
        return int(self._clock.now().timestamp())


def _sign(claims: dict[str, Any], key: OctKey) -> str:
    return jwt.encode(_HEADER, claims, key, algorithms=[ALGORITHM])


def _claims(claims: dict[str, Any]) -> TokenClaims:
    epoch, token_id = claims["epoch"], claims["jti"]
    issued_at, expires_at = claims["iat"], claims["exp"]
    numbers = (epoch, issued_at, expires_at)
    if not all(type(number) is int for number in numbers) or type(token_id) is not str:
        raise TypeError("a claim has another type than ours")
    if expires_at - issued_at != LIFE.total_seconds() or claims.keys() - _NAMES:
        raise ValueError("a token that we would not issue")
    if claims["aud"] != AUDIENCE or not _ACCOUNT_ID.fullmatch(claims["sub"]):
        raise ValueError("a token that we would not issue")
    return TokenClaims(int(claims["sub"]), epoch, token_id, expires_at + LEEWAY_SECONDS)


_NAMES = frozenset({"iss", "aud", "sub", "iat", "exp", "jti", "epoch"})
