"""The error tree: what can go wrong, in words that every edge (HTTP, terminal) can show.

HTTP numbers are not here: the edges map a `Kind` to theirs.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import ClassVar


class Kind(StrEnum):
    INVALID = "invalid"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not-found"
    CONFLICT = "conflict"
    GONE = "gone"
    LIMITED = "limited"
    UNAVAILABLE = "unavailable"


class KurzError(Exception):
    """A failure somebody can act on. `title` and `code`, which is made from the class's name, are
    stable; the sentence is for people. `field` is the one of the request whose value was
    refused."""

    kind: ClassVar[Kind]
    code: ClassVar[str]
    title: ClassVar[str]
    retry_after_seconds: int | None = None  # None: trying again does not help
    field: str | None = None

    def __init_subclass__(cls) -> None:
        """`LinkNotFound` is link-not-found."""
        if "code" not in vars(cls):
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def __init__(self, detail: str, *, field: str | None = None, **fields: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.fields = fields
        if field is not None:
            self.field = field


class Invalid(KurzError):
    kind = Kind.INVALID


class Unauthenticated(KurzError):
    kind = Kind.UNAUTHENTICATED


class Forbidden(KurzError):
    kind = Kind.FORBIDDEN


class NotFound(KurzError):
    kind = Kind.NOT_FOUND


class Conflict(KurzError):
    kind = Kind.CONFLICT


class Gone(KurzError):
    kind = Kind.GONE


class Limited(KurzError):
    kind = Kind.LIMITED


class Unavailable(KurzError):
    """A part kurz depends on does not answer; the same request may succeed later."""

    kind = Kind.UNAVAILABLE
    retry_after_seconds: int = 5


class StoreUnavailable(Unavailable):
    title = "Database unavailable"


class StoreBusy(StoreUnavailable):
    """The database is available, but this call had to wait too long."""

    title = "Database busy"
    retry_after_seconds = 1


class Overloaded(Unavailable):
    """More is in progress than a worker can do without keeping visitors waiting."""

    title = "Server overloaded"
    retry_after_seconds = 1


class ServerReadOnly(Unavailable):
    """The server runs from a backup, so that links work while the real one is repaired."""

    title = "Server is read-only"
    retry_after_seconds = 60  # a person is repairing it


class WritesFail(Unavailable):
    """Answers from memory and reads still work."""

    title = "Writes are failing"


class OlderInstanceRuns(Unavailable):
    """An older version, which cannot handle what the request would create."""

    title = "An older version is still running"
    retry_after_seconds = 60  # for as long it may have been cut off


class SignInRequired(Unauthenticated):
    title = "Sign-in required"


class MethodNotAllowed(Invalid):
    title = "Method not allowed"


class SettingRefused(Invalid):
    """A setting that the server cannot start with."""

    title = "Invalid setting"


class SchemaOutdated(Conflict):
    """The database's schema is not the one this program was written for."""

    title = "Database schema does not match this version"


class ProgramOutdated(SchemaOutdated):
    """The database was changed in a way that only newer programs understand."""

    title = "This version of kurz is too old for the database"


class CompactingRefused(Conflict):
    """The database cannot be compacted while it is used, or without more free space."""

    title = "Database cannot be compacted now"


class UpgradeRefused(Conflict):
    """An instance that still runs could not use the schema."""

    title = "Schema cannot be upgraded now"


class BackupRefused(Conflict):
    """A backup that cannot be made or restored here, or not now."""

    title = "Backup not possible"


class BackupBroken(Invalid):
    title = "Backup is damaged"


class BackupLocked(Invalid):
    """An encrypted backup whose key is missing or wrong."""

    title = "Backup cannot be decrypted"


class BackupNotFound(NotFound):
    title = "Backup not found"


class BackupUnavailable(Unavailable):
    """The folder or bucket of backups does not work."""

    title = "Backup storage unavailable"


@contextmanager
def renamed(field: str, name: str) -> Iterator[None]:
    """Refusals of `field` inside have the name that the request has for it."""
    try:
        yield
    except KurzError as error:
        if error.field == field:
            error.field = name
        raise


def catalogue() -> list[type[KurzError]]:
    """Every concrete error class that has been imported, by code."""
    found: dict[str, type[KurzError]] = {}
    waiting: list[type[KurzError]] = [KurzError]
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        if "title" in vars(error):
            found[error.code] = error
    return [found[code] for code in sorted(found)]


def problem(error: KurzError, status: int) -> dict[str, object]:
    """The error as the members of an RFC 9457 problem; the edge that answers knows the status."""
    return {
        "type": f"/api/problems/{error.code}",
        "title": error.title,
        "status": status,
        "detail": error.detail,
        **({} if error.field is None else {"field": error.field}),
        **error.fields,
    }
