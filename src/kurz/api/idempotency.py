"""`Idempotency-Key`: the same request, sent again, gets the same answer and does nothing more."""

import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from fastapi import Request

from kurz.api.responses import Answer
from kurz.clock import Clock
from kurz.people.errors import IdempotencyKeyRefused, IdempotencyKeyReused, RequestInFlight
from kurz.people.receipts import KEPT, AlreadyAnswered, Receipt, ReceiptStore, hash_key

HEADER = "idempotency-key"
MAX_LENGTH = 255
_NONCE_BYTES = 12

T = TypeVar("T")


class Receipts:
    """Answers are kept sealed, because they may hold what is told only once: a claim token, a key.
    Who reads the database alone, without the installation's secret, learns nothing from them."""

    def __init__(self, store: ReceiptStore, key: bytes, clock: Clock) -> None:
        self._store = store
        self._cipher = AESGCM(key)
        self._clock = clock
        self._in_flight: set[tuple[str, bytes]] = set()

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
        key = request.headers.get(HEADER)
        if key is None:
            return render(await act(None))
        if not 1 <= len(key) <= MAX_LENGTH or not key.isascii() or not key.isprintable():
            raise IdempotencyKeyRefused(
                f"An Idempotency-Key has 1 to {MAX_LENGTH} printable ASCII characters."
            )
        mark = (caller, hash_key(f"{key}\0{part}" if part else key))
        if mark in self._in_flight:
            raise RequestInFlight("The request with this Idempotency-Key is being worked on.")
        self._in_flight.add(mark)
        try:
            return await self._answer(mark, await _fingerprint(request), act, render)
        finally:
            self._in_flight.discard(mark)

    async def _answer(
        self,
        mark: tuple[str, bytes],
        fingerprint: bytes,
        act: Callable[[Receipt | None], Awaitable[T]],
        render: Callable[[T], Answer],
    ) -> Answer:
        now = self._clock.now()
        earlier = await self._find(mark, fingerprint, now)
        if earlier is not None:
            return earlier
        receipt = Receipt(*mark, fingerprint, now, lambda made: self._seal(mark, render(made)))
        try:
            return render(await act(receipt))
        except AlreadyAnswered:  # by another worker, while this one was at it
            found = await self._find(mark, fingerprint, now)
            if found is None:
                raise RequestInFlight("Try again with the same Idempotency-Key.") from None
            return found

    async def _find(
        self, mark: tuple[str, bytes], fingerprint: bytes, now: datetime
    ) -> Answer | None:
        stored = await self._store.find(*mark, now - KEPT)
        if stored is None:
            return None
        if stored.fingerprint != fingerprint:
            raise IdempotencyKeyReused("Use a new Idempotency-Key for another request.")
        return self._open(mark, stored.answer)

    def _seal(self, mark: tuple[str, bytes], answer: Answer) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        text = json.dumps([answer.status, answer.body.decode(), answer.headers]).encode()
        return nonce + self._cipher.encrypt(nonce, text, _bound_to(mark))

    def _open(self, mark: tuple[str, bytes], sealed: bytes) -> Answer:
        text = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _bound_to(mark))
        status, body, headers = json.loads(text)
        return Answer(status, body.encode(), {**headers, "idempotency-replayed": "true"})


def _bound_to(mark: tuple[str, bytes]) -> bytes:
    return mark[0].encode() + b"\0" + mark[1]


async def _fingerprint(request: Request) -> bytes:
    digest = hashlib.sha256(f"{request.method} {request.scope['path']}\n".encode())
    digest.update(await request.body())
    return digest.digest()
