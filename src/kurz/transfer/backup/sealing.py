"""Encrypts and decrypts backups, in the age format (https://age-encryption.org/v1).

Every backup has a key of its own. Recipients can open it directly. A passphrase opens that key,
which is stored in a line in front. Not by age: with a passphrase, it encrypts a whole file in
memory, and it measures how fast the machine is at the moment. A busy one took 13 s, or refused what
it had encrypted before.
"""

import base64
import binascii
import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any, BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kurz.errors import BackupBroken, BackupLocked, SettingRefused
from kurz.transfer.backup.trailer import Readable

_AGE = b"age-encryption.org/v1\n"
_KEY = b"kurz-backup-key 1 "
MAX_LINE_BYTES = 4096
_SALT_BYTES = 16
_NONCE_BYTES = 12
_SCRYPT = {"n": 2**17, "r": 8, "p": 1}  # as OWASP advises: 128 MiB, and half a second
_SCRYPT_BYTES = 256 * 2**20  # that it may take; OpenSSL allows too little by default
_PEEKED_BYTES = 32


@dataclass(frozen=True)
class BackupKeys:
    """What encrypts backups, and what decrypts them. Nothing of it is ever shown."""

    passphrase: str | None = field(default=None, repr=False)
    recipients: Sequence[str] = ()
    identity: str | None = field(default=None, repr=False)

    @property
    def are_given(self) -> bool:
        """Whether new backups are encrypted."""
        return self.passphrase is not None or bool(self.recipients)


class Seal:
    """Encrypts one backup."""

    def __init__(self, keys: BackupKeys) -> None:
        age = _age()
        self._identity = age.x25519.Identity.generate()
        self._keys = keys
        self._recipients = [self._identity.to_public(), *map(_recipient, keys.recipients)]

    @property
    def own_keys(self) -> BackupKeys:
        """They open this backup while this process lives, to check it."""
        return BackupKeys(identity=str(self._identity))

    @contextmanager
    def sealed(self, file: BinaryIO) -> Iterator[BinaryIO]:
        """Encrypts what is written to the yielded file, into `file`."""
        age = _age()
        if self._keys.passphrase is not None:
            locked = _locked(str(self._identity), self._keys.passphrase)
            file.write(_KEY + base64.b64encode(locked) + b"\n")

        def encrypt(source: BinaryIO) -> None:
            age.encrypt_io(source, file, self._recipients)

        with _writing_into(encrypt) as target:
            yield target


@contextmanager
def unsealed(file: IO[bytes], keys: BackupKeys) -> Iterator[Readable | BinaryIO]:
    """The content of a file, decrypted if it is encrypted. Raises `BackupLocked`; while it is read,
    `BackupBroken`."""
    start = file.read(_PEEKED_BYTES)
    if not start.startswith((_AGE, _KEY)):
        yield _Rejoined(start, file)
        return
    age, identities = _age(), [] if keys.identity is None else [_identity(keys.identity)]
    if start.startswith(_KEY):
        start += file.readline(MAX_LINE_BYTES)
        line, _, start = start.partition(b"\n")
        locked = _decoded(line.removeprefix(_KEY))
        if keys.passphrase is not None:
            identities.append(_unlocked(locked, keys.passphrase))
    if not identities:
        raise BackupLocked(
            "The backup is encrypted. Set KURZ_BACKUP_PASSPHRASE_FILE or KURZ_BACKUP_IDENTITY_FILE."
        )
    source = _Rejoined(start, file)
    with _reading_from(lambda target: age.decrypt_io(source, target, identities)) as content:
        yield content


class _Rejoined:
    """Bytes that were read already, and the rest of their file."""

    def __init__(self, start: bytes, file: IO[bytes]) -> None:
        self._start = start
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not self._start:
            return self._file.read(size)
        data = self._start if size < 0 else self._start[:size]
        self._start = self._start[len(data) :]
        return data


@contextmanager
def _writing_into(work: Callable[[BinaryIO], None]) -> Iterator[BinaryIO]:
    """`work` reads, in a thread of its own, what is written to the yielded file."""
    reading, writing = os.pipe()
    failed: list[Exception] = []

    def run() -> None:
        with os.fdopen(reading, "rb") as source:
            try:
                work(source)
            except Exception as error:  # noqa: BLE001  raised below
                failed.append(error)

    thread = threading.Thread(target=run, name="encrypt", daemon=True)
    thread.start()
    try:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as target:
            yield target
    finally:
        thread.join()
    if failed:
        raise OSError(f"encrypting failed: {failed[0]}") from failed[0]


@contextmanager
def _reading_from(work: Callable[[BinaryIO], None]) -> Iterator[Readable]:
    """`work` writes, in a thread of its own, what is read from the yielded file."""
    reading, writing = os.pipe()
    failed: list[Exception] = []

    def run() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as target:
            try:
                work(target)
            except Exception as error:  # noqa: BLE001  raised by the reader
                failed.append(error)

    thread = threading.Thread(target=run, name="decrypt", daemon=True)
    thread.start()
    try:
        with os.fdopen(reading, "rb") as source:
            yield _Decrypted(source, thread, failed)
    finally:
        thread.join()


class _Decrypted:
    def __init__(self, source: BinaryIO, thread: threading.Thread, failed: list[Exception]) -> None:
        self._source = source
        self._thread = thread
        self._failed = failed

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        if data and (size < 0 or len(data) == size):
            return data
        self._thread.join()  # it has ended, or is about to
        if self._failed:
            raise _translated(self._failed[0])
        return data


def _translated(error: Exception) -> Exception:
    if "No matching keys" in str(error):
        return BackupLocked("The backup is encrypted, and not for the given key or passphrase.")
    return BackupBroken("The backup is damaged: it cannot be decrypted.")


def _decoded(text: bytes) -> bytes:
    with suppress(binascii.Error):
        data = base64.b64decode(text, validate=True)
        if base64.b64encode(data) == text:  # the same bytes could be written in other ways
            return data
    raise BackupBroken("The backup is damaged: its key cannot be read.")


def _locked(identity: str, passphrase: str) -> bytes:
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    return salt + nonce + _cipher(passphrase, salt).encrypt(nonce, identity.encode(), _KEY)


def _unlocked(locked: bytes, passphrase: str) -> Any:
    salt, nonce = locked[:_SALT_BYTES], locked[_SALT_BYTES:][:_NONCE_BYTES]
    sealed = locked[_SALT_BYTES + _NONCE_BYTES :]
    try:
        return _identity(_cipher(passphrase, salt).decrypt(nonce, sealed, _KEY).decode())
    except (InvalidTag, ValueError):  # or too short
        raise BackupLocked("The passphrase is wrong, or the backup is damaged.") from None


def _cipher(passphrase: str, salt: bytes) -> AESGCM:
    key = hashlib.scrypt(passphrase.encode(), salt=salt, maxmem=_SCRYPT_BYTES, dklen=32, **_SCRYPT)
    return AESGCM(key)


def _identity(text: str) -> Any:
    """The secret key in a text, which may be the whole file that `age-keygen` writes."""
    age = _age()
    lines = [line.strip() for line in text.splitlines()]
    [key] = [line for line in lines if line.startswith("AGE-SECRET-KEY-")][:1] or [""]
    try:
        return age.x25519.Identity.from_str(key)
    except age.IdentityError:
        raise SettingRefused(
            "KURZ_BACKUP_IDENTITY must be a key of age, which starts with AGE-SECRET-KEY-1."
        ) from None


def _recipient(text: str) -> Any:
    age = _age()
    try:
        return age.x25519.Recipient.from_str(text)
    except age.RecipientError:
        raise SettingRefused(
            "KURZ_BACKUP_RECIPIENTS must be public keys of age, such as age1…, separated by commas."
        ) from None


def _age() -> Any:
    """Loaded late: most backups are not encrypted, and it is an extra."""
    try:
        import pyrage
    except ImportError:
        raise SettingRefused(
            "Encrypted backups require another package. Install it where kurz is installed:"
            " pip install 'pyrage>=1.4,<2'."
        ) from None
    return pyrage
