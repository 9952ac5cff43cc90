"""Passwords: rules, and hashes, which are computed outside the event loop."""

import base64
import hmac
import os
import sys
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

import bcrypt

from kurz.people.errors import PasswordRefused
from kurz.people.hash_queue import NOBODY, Asker, HashQueue

COST = 12  # of bcrypt: a rule of the product
MIN_LENGTH = 8
MAX_BYTES = 1024
# The usual substitutions; a 1 may stand for two letters.
_SUBSTITUTIONS = [str.maketrans("@403$5!71", "aaoessit" + letter) for letter in "li"]
# One hash takes a core for a quarter of a second: sign-ins get half of the cores at most.
NICENESS = 10  # hashing gives way to redirects


def check(password: str, email: str) -> None:
    """Raises `PasswordRefused` for a password that would be guessed first."""
    if len(password) < MIN_LENGTH:
        raise PasswordRefused(f"The password must have at least {MIN_LENGTH} characters.")
    try:
        size = len(password.encode())
    except UnicodeEncodeError:
        raise PasswordRefused("The password is not valid text.") from None
    if size > MAX_BYTES:
        raise PasswordRefused(f"The password can have at most {MAX_BYTES} bytes.")
    plain = unicodedata.normalize("NFKC", password).lower()  # also in full-width letters
    local, _, domain = email.partition("@")
    obvious = _common() | {email, local, domain}
    if (
        plain in obvious
        or len(set(plain)) < 4
        or _repeats(plain, obvious)
        or _disguises(plain, obvious)
    ):
        raise PasswordRefused("This password is too common. Choose another one.")


def _disguises(plain: str, obvious: frozenset[str]) -> bool:
    """Whether it is an obvious password, or repeats one, with the usual substitutions, and with
    digits or marks at the end: `p@ssw0rd`, `p@$$123`, `passw0rd!`."""
    end = max((at for at, it in enumerate(plain, 1) if it.isalpha()), default=len(plain) + 1)
    return any(
        any(text[:size] in obvious for size in range(end, len(text) + 1))
        or _repeats(text[:end], obvious)
        for text in (plain, *map(plain.translate, _SUBSTITUTIONS))
    )


def _repeats(plain: str, obvious: frozenset[str]) -> bool:
    """Whether it repeats an obvious password, such as `passwordpassword`, with or without a
    separator, and with digits at either end: `kurz-kurz`, `kurzkurz12`."""
    squeezed = "".join(filter(str.isalnum, plain))
    return any(
        text[:size] in obvious and text[:size] * (len(text) // size) == text
        for text in (plain, squeezed, squeezed.strip("0123456789"))
        for size in range(1, len(text) // 2 + 1)
    )


class Passwords:
    """bcrypt over a keyed pre-hash: bcrypt itself reads only 72 bytes, and stops at a NUL."""

    def __init__(self, cost: int = COST) -> None:
        self._cost = cost
        threads = max(1, (os.cpu_count() or 1) // 2)
        self._pool = ThreadPoolExecutor(threads, "kurz-bcrypt", initializer=_give_way)
        self._queue = HashQueue(self._pool, threads)
        # A hash that no password matches, and that takes as long to check as any other.
        self._decoy = f"$2b${cost:02}$" + "." * 53
        self.checks = 0

    async def hash(self, password: str, asker: Asker = NOBODY) -> str:
        return await self._queue.run(asker, lambda: self._hash(password))

    async def verify(self, password: str, hashed: str | None, asker: Asker = NOBODY) -> bool:
        """True if the password matches the hash. Without a hash, the answer takes the same time."""
        return await self._queue.run(asker, lambda: self._verify(password, hashed))

    def close(self) -> None:
        """Returns when no thread is left: the caller may be about to fork."""
        self._pool.shutdown(cancel_futures=True)

    def check_room(self, asker: Asker) -> None:
        """Raises `SignInBusy` when the line is full."""
        self._queue.check_room(asker)

    def _hash(self, password: str) -> str:
        return bcrypt.hashpw(_prehash(password), bcrypt.gensalt(self._cost)).decode()

    def _verify(self, password: str, hashed: str | None) -> bool:
        self.checks += 1
        fits = bcrypt.checkpw(_prehash(password), (hashed or self._decoy).encode())
        return fits and hashed is not None


def _prehash(password: str) -> bytes:
    """44 characters that depend on every byte of the password. Keyed, so that leaked hashes of
    other programs cannot be used as passwords here."""
    digest = hmac.digest(b"kurz-password-v1", password.encode(errors="surrogatepass"), "sha256")
    return base64.b64encode(digest)


def _give_way() -> None:
    """A sandbox may forbid it. An error here would end the thread, and with it every sign-in."""
    if sys.platform == "linux":  # elsewhere it would slow down the whole process
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


@cache
def _common() -> frozenset[str]:
    return frozenset((Path(__file__).parent / "common_passwords.txt").read_text().split())
