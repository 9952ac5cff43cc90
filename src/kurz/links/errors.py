"""What can go wrong with links."""

from enum import StrEnum

from kurz.errors import Kind, KurzError, Unavailable


class LinkNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "link-not-found"
    title = "There is no such link"


class LinkBanned(KurzError):
    kind = Kind.GONE
    code = "link-banned"
    title = "This link was taken down"


class LinkHeld(KurzError):
    kind = Kind.FORBIDDEN
    code = "link-held"
    title = "This link has not been looked at yet"


class DestinationRefused(KurzError):
    kind = Kind.INVALID
    code = "destination-refused"
    title = "No link may lead there"


class LinkChanged(KurzError):
    kind = Kind.CONFLICT
    code = "link-changed"
    title = "The link was changed in the meantime"


class VersionOutdated(KurzError):
    kind = Kind.CONFLICT
    code = "version-outdated"
    title = "The link is not in the state you have seen"


class InstantRefused(KurzError):
    kind = Kind.INVALID
    code = "instant-refused"
    title = "This point in time cannot be used"


class FieldRefused(KurzError):
    kind = Kind.INVALID
    code = "field-refused"
    title = "A field has a value that cannot be kept"


class StrategyRefused(KurzError):
    kind = Kind.INVALID
    code = "strategy-refused"
    title = "This code strategy cannot be used here"


class CursorRefused(KurzError):
    kind = Kind.INVALID
    code = "cursor-refused"
    title = "This cursor does not belong to a list"


class CodesExhausted(Unavailable):
    code = "codes-exhausted"
    title = "No free code was found"


class CounterStarted(KurzError):
    kind = Kind.CONFLICT
    code = "counter-started"
    title = "The counter is already in use"


class SeriesRefused(KurzError):
    kind = Kind.INVALID
    code = "series-refused"
    title = "This series of codes cannot be continued"


class CustomCodeRefused(KurzError):
    kind = Kind.INVALID
    code = "custom-code-refused"
    title = "This custom code cannot be used"


class CustomCodeTaken(KurzError):
    kind = Kind.CONFLICT
    code = "custom-code-taken"
    title = "This custom code is taken"


def code_taken(code: str) -> CustomCodeTaken:
    return CustomCodeTaken(f"The code “{code}” is taken. Choose another one.")


class UrlFlaw(StrEnum):
    """What is wrong with a URL, for programs that say it in their own words."""

    TEXT = "text"
    TOO_LONG = "too-long"
    CHARACTERS = "characters"
    SCHEME = "scheme"
    CREDENTIALS = "credentials"
    MALFORMED = "malformed"
    HOST = "host"
    ADDRESS = "address"
    PORT = "port"
    OWN = "own"


class UrlRefused(KurzError):
    kind = Kind.INVALID
    code = "url-refused"
    title = "This URL cannot be shortened"

    def __init__(self, flaw: UrlFlaw, detail: str) -> None:
        super().__init__(detail, flaw=flaw)
        self.flaw = flaw


class LinkExpired(KurzError):
    kind = Kind.GONE
    code = "link-expired"
    title = "This link has expired"


class LinkExhausted(KurzError):
    kind = Kind.GONE
    code = "link-exhausted"
    title = "This link has been used up"


class TagNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "tag-not-found"
    title = "There is no such tag"


class ArchiveUnavailable(Unavailable):
    code = "archive-unavailable"
    title = "The archive cannot be used"


class ArchiveFileNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "archive-file-not-found"
    title = "There is no such file in the archive"


class ArchiveFileBroken(KurzError):
    kind = Kind.INVALID
    code = "archive-file-broken"
    title = "This file of the archive cannot be read"


class ArchiveFileForeign(KurzError):
    """It cannot be trusted: nobody knows who wrote it."""

    kind = Kind.INVALID
    code = "archive-file-foreign"
    title = "This archive file is not signed by this installation"
