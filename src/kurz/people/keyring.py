"""One secret, and a key derived from it for each purpose: none reveals another."""

import hmac


class Keyring:
    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def key(self, purpose: str) -> bytes:
        """32 bytes for this purpose; the same as long as the secret is the same."""
        return hmac.digest(self._secret, b"kurz/" + purpose.encode(), "sha256")
