"""One secret, and a key derived from it for each purpose: none reveals another."""

import hmac
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keys:
    """What is made with `current` is accepted, and so is what was made with an `earlier` one."""

    current: bytes
    earlier: tuple[bytes, ...] = ()

    @property
    def accepted(self) -> tuple[bytes, ...]:
        return self.current, *self.earlier


class Keyring:
    """`previous` is another secret whose tokens are accepted, while the secret is changed."""

    def __init__(self, secret: str, previous: str | None = None) -> None:
        self._secret = secret.encode()
        self._previous = None if previous is None else previous.encode()

    def key(self, purpose: str) -> bytes:
        """32 bytes for this purpose; the same as long as the secret is the same."""
        return _derived(self._secret, purpose)

    def keys(self, purpose: str) -> Keys:
        """The same, with the key of the other secret."""
        if self._previous is None:
            return Keys(self.key(purpose))
        return Keys(self.key(purpose), (_derived(self._previous, purpose),))


def _derived(secret: bytes, purpose: str) -> bytes:
    return hmac.digest(secret, b"kurz/" + purpose.encode(), "sha256")
