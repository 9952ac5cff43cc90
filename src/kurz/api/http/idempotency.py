"""`Idempotency-Key`: the same request, sent again, gets the same answer and does nothing more."""

import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from fastapi import Request

from kurz.api.responses import Answer
from kurz.clock import Clock
from kurz.errors import KurzError, Unavailable
from kurz.people.errors import IdempotencyKeyRefused, IdempotencyKeyReused, RequestInFlight
from kurz.people.limits import LimitClass, Limits
from kurz.people.receipts import KEPT, AlreadyAnswered, Receipt, ReceiptStore, hash_key

HEADER = "idempotency-key"
MAX_LENGTH = 255
_NONCE_BYTES = 12
_STRANGER = b"stranger"  # another use of the key than sealing
_FINGERPRINT = "kurz.fingerprint"

T = TypeVar("T")
Mark = tuple[str, bytes]  # a caller, and the hash of their key


class Receipts:
    """Answers are kept sealed, because they may hold what is told only once: a claim token, a key.
    Who reads the database alone, without the installation's secret, learns nothing from them."""

    def __init__(self, store: ReceiptStore, key: bytes, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._key = key
        self._cipher = AESGCM(key)
        self._clock = clock
        self._limits = limits
        self._in_flight: set[Mark] = set()

    def name_stranger(self, address: str) -> str:
        """The caller's name where nobody signed in. Who reads the database alone does not find out
        the address, not even by trying all there are."""
        digest = hashlib.blake2b(address.encode(), digest_size=16, key=self._key, person=_STRANGER)
        return f"address:{digest.hexdigest()}"

    async def once(
        self,
        request: Request,
        caller: str,
        act: Callable[[Receipt | None], Awaitable[T]],
        render: Callable[[T], Answer],
        part: str = "",
    ) -> Answer:
        """Acts and renders the answer; with a key that was used before, sends the old answer again.
        `act` hands the receipt to the store. `part` tells the items of one request apart."""
        mark = _mark(request, caller, part)
        if mark is None:
            return render(await act(None))
        with self._alone(mark):
            stored = 0 if part else 1
            return await self._answer(mark, await _fingerprint(request), act, render, stored)

    @asynccontextmanager
    async def of_many(self, request: Request, caller: str, parts: int) -> AsyncIterator[None]:
        """Around a request of many parts: before the first of them, its key becomes this request's,
        so that another one with the same key does none. The answers of all parts are charged
        here."""
        mark = _mark(request, caller, "")
        if mark is None:
            yield
            return

        async def act(_: Receipt | None) -> None: ...

        with self._alone(mark):
            fingerprint, empty = await _fingerprint(request), Answer(200, b"")
            await self._answer(mark, fingerprint, act, lambda _: empty, 1 + parts)
            yield

    @contextmanager
    def _alone(self, mark: Mark) -> Iterator[None]:
        if mark in self._in_flight:
            raise RequestInFlight(
                "A request with this Idempotency-Key is still in progress. Try again in a moment."
            )
        self._in_flight.add(mark)
        try:
            yield
        finally:
            self._in_flight.discard(mark)

    async def _answer(
        self,
        mark: Mark,
        fingerprint: bytes,
        act: Callable[[Receipt | None], Awaitable[T]],
        render: Callable[[T], Answer],
        stored: int,
    ) -> Answer:
        """`stored`: how many answers are charged, if there is none yet."""
        now = self._clock.now()
        earlier = await self._find(mark, fingerprint, now)
        if earlier is not None:
            return earlier
        if stored:
            await self._limits.check(LimitClass.STORED_ANSWERS, mark[0], stored)
        is_kept = False

        def write(made: T) -> bytes:
            nonlocal is_kept
            is_kept = True
            return self._seal(mark, render(made))

        receipt = Receipt(*mark, fingerprint, now, write)
        try:
            made = await act(receipt)
            if not is_kept:  # nothing was inserted that it could go with
                await self._store.keep(receipt, made)
            return render(made)
        except Unavailable:
            raise
        except (AlreadyAnswered, KurzError) as error:
            # Another worker was quicker; that may also be why a code is taken, or a quota used up.
            found = await self._find(mark, fingerprint, now)
            if found is not None:
                return found
            if isinstance(error, KurzError):
                raise
            raise RequestInFlight(
                "The request with this Idempotency-Key was not completed. Try again with the"
                " same key."
            ) from None

    async def _find(self, mark: Mark, fingerprint: bytes, now: datetime) -> Answer | None:
        stored = await self._store.find(*mark, now - KEPT)
        if stored is None:
            return None
        if stored.fingerprint != fingerprint:
            raise IdempotencyKeyReused(
                "This Idempotency-Key was used for a different request. Use a new key."
            )
        return self._open(mark, stored.answer)

    def _seal(self, mark: Mark, answer: Answer) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        text = json.dumps([answer.status, answer.body.decode(), answer.headers]).encode()
        return nonce + self._cipher.encrypt(nonce, text, _bound_to(mark))

    def _open(self, mark: Mark, sealed: bytes) -> Answer:
        nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            text = self._cipher.decrypt(nonce, rest, _bound_to(mark))
        except InvalidTag:  # doing it all again would be worse than not to know the answer
            raise IdempotencyKeyReused(
                "This request was already answered, but the installation's secret has changed"
                " since then. Use a new Idempotency-Key."
            ) from None
        status, body, headers = json.loads(text)
        return Answer(status, body.encode(), {**headers, "idempotency-replayed": "true"})


def _mark(request: Request, caller: str, part: str) -> Mark | None:
    """Who asks with which key; None: without one."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not 1 <= len(key) <= MAX_LENGTH or not key.isascii() or not key.isprintable():
        raise IdempotencyKeyRefused(
            f"An Idempotency-Key must have 1 to {MAX_LENGTH} printable ASCII characters."
        )
    return caller, hash_key(f"{key}\0{part}" if part else key)


def _bound_to(mark: Mark) -> bytes:
    return mark[0].encode() + b"\0" + mark[1]


async def _fingerprint(request: Request) -> bytes:
    """Of the whole request; its parts share it."""
    found: bytes | None = request.scope.get(_FINGERPRINT)
    if found is not None:
        return found
    digest = hashlib.sha256(f"{request.method} {request.scope['path']}\n".encode())
    digest.update(await request.body())
    request.scope[_FINGERPRINT] = digest.digest()
    return digest.digest()
