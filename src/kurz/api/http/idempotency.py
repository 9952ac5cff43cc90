"""`Idempotency-Key`: the same request, sent again, gets the same answer and does nothing more."""

import contextlib
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

from kurz.api.http.responses import ApiAnswer
from kurz.clock import Clock
from kurz.errors import KurzError, Unavailable
from kurz.people.errors import IdempotencyKeyRefused, IdempotencyKeyReused, RequestInFlight
from kurz.people.keyring import Keys
from kurz.people.limits import LimitClass, Limits
from kurz.people.receipts import KEPT, AlreadyAnswered, Receipt, ReceiptStore, hash_key

HEADER = "idempotency-key"
MAX_LENGTH = 255
_NONCE_BYTES = 12
_STRANGER = b"stranger"  # separates this use of the key from sealing
_FINGERPRINT = "kurz.fingerprint"

T = TypeVar("T")
RequestKey = tuple[str, bytes]  # a caller, and the hash of their key


class Receipts:
    """Answers are stored encrypted, because they may contain what is shown only once: a claim
    token, a key. Without the installation's secret, the database reveals nothing of them."""

    def __init__(self, store: ReceiptStore, keys: Keys, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._key = keys.current
        self._ciphers = [AESGCM(key) for key in keys.accepted]
        self._clock = clock
        self._limits = limits
        self._in_flight: set[RequestKey] = set()

    def name_stranger(self, address: str) -> str:
        """The name of a caller without an account. The database alone does not reveal the address,
        not even by trying all addresses."""
        digest = hashlib.blake2b(address.encode(), digest_size=16, key=self._key, person=_STRANGER)
        return f"address:{digest.hexdigest()}"

    def has_key(self, request: Request) -> bool:
        return HEADER in request.headers

    async def once(
        self,
        request: Request,
        caller: str,
        act: Callable[[Receipt | None], Awaitable[T]],
        render: Callable[[T], ApiAnswer],
        part: str = "",
    ) -> ApiAnswer:
        """Acts and renders the answer; with a key that was used before, sends the old answer again.
        `act` passes the receipt to the store. `part` distinguishes the items of one request."""
        request_key = _request_key(request, caller, part)
        if request_key is None:
            return render(await act(None))
        with self._alone(request_key):
            stored = 0 if part else 1
            return await self._answer(request_key, await _fingerprint(request), act, render, stored)

    @asynccontextmanager
    async def of_many(self, request: Request, caller: str, parts: int) -> AsyncIterator[None]:
        """Around a request of many parts: before the first part, the request takes its key, so that
        another request with the same key does nothing. The answers of all parts are charged
        here."""
        request_key = _request_key(request, caller, "")
        if request_key is None:
            yield
            return

        async def act(_: Receipt | None) -> None: ...

        with self._alone(request_key):
            fingerprint, empty = await _fingerprint(request), ApiAnswer(200, b"")
            await self._answer(request_key, fingerprint, act, lambda _: empty, 1 + parts)
            yield

    @contextmanager
    def _alone(self, request_key: RequestKey) -> Iterator[None]:
        if request_key in self._in_flight:
            raise RequestInFlight(
                "A request with this Idempotency-Key is still in progress. Try again in a moment."
            )
        self._in_flight.add(request_key)
        try:
            yield
        finally:
            self._in_flight.discard(request_key)

    async def _answer(
        self,
        request_key: RequestKey,
        fingerprint: bytes,
        act: Callable[[Receipt | None], Awaitable[T]],
        render: Callable[[T], ApiAnswer],
        stored: int,
    ) -> ApiAnswer:
        """`stored`: how many answers are charged, if there is none yet."""
        now = self._clock.now()
        earlier = await self._find(request_key, fingerprint, now)
        if earlier is not None:
            return earlier
        if stored:
            await self._limits.check(LimitClass.STORED_ANSWERS, request_key[0], stored)
        is_stored = False

        def write(made: T) -> bytes:
            nonlocal is_stored
            is_stored = True
            return self._seal(request_key, render(made))

        receipt = Receipt(*request_key, fingerprint, now, write)
        try:
            made = await act(receipt)
            if not is_stored:  # nothing was inserted that could carry it
                await self._store.keep(receipt, made)
            return render(made)
        except Unavailable:
            raise
        except (AlreadyAnswered, KurzError) as error:
            # Another worker was faster; that may also be why a code is taken, or a quota reached.
            found = await self._find(request_key, fingerprint, now)
            if found is not None:
                return found
            if isinstance(error, KurzError):
                raise
            raise RequestInFlight(
                "The request with this Idempotency-Key was not completed. Try again with the"
                " same key."
            ) from None

    async def _find(
        self, request_key: RequestKey, fingerprint: bytes, now: datetime
    ) -> ApiAnswer | None:
        stored = await self._store.find(*request_key, now - KEPT)
        if stored is None:
            return None
        if stored.fingerprint != fingerprint:
            raise IdempotencyKeyReused(
                "This Idempotency-Key was used for a different request. Use a new key."
            )
        return self._open(request_key, stored.answer)

    def _seal(self, request_key: RequestKey, answer: ApiAnswer) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        text = json.dumps([answer.status, answer.body.decode(), answer.headers]).encode()
        return nonce + self._ciphers[0].encrypt(nonce, text, _bound_to(request_key))

    def _open(self, request_key: RequestKey, sealed: bytes) -> ApiAnswer:
        nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            with contextlib.suppress(InvalidTag):
                text = cipher.decrypt(nonce, rest, _bound_to(request_key))
                status, body, headers = json.loads(text)
                return ApiAnswer(status, body.encode(), {**headers, "idempotency-replayed": "true"})
        # Doing everything again would be worse than losing the answer.
        raise IdempotencyKeyReused(
            "This request was already answered, but the installation's secret has changed since"
            " then. Use a new Idempotency-Key."
        )


def _request_key(request: Request, caller: str, part: str) -> RequestKey | None:
    """The caller and the key; None: there is no key."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not 1 <= len(key) <= MAX_LENGTH or not key.isascii() or not key.isprintable():
        raise IdempotencyKeyRefused(
            f"An Idempotency-Key must have 1 to {MAX_LENGTH} printable ASCII characters."
        )
    return caller, hash_key(f"{key}\0{part}" if part else key)


def _bound_to(request_key: RequestKey) -> bytes:
    return request_key[0].encode() + b"\0" + request_key[1]


async def _fingerprint(request: Request) -> bytes:
    """Of the whole request; its parts share it."""
    found: bytes | None = request.scope.get(_FINGERPRINT)
    if found is not None:
        return found
    digest = hashlib.sha256(f"{request.method} {request.scope['path']}\n".encode())
    digest.update(await request.body())
    request.scope[_FINGERPRINT] = digest.digest()
    return digest.digest()
