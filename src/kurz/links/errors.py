"""What can go wrong with links."""

from enum import StrEnum

from kurz.errors import Kind, KurzError, Unavailable


class LinkNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "link-not-found"
    title = "Link not found"


class LinkBanned(KurzError):
    kind = Kind.GONE
    code = "link-banned"
    title = "Link taken down"


class LinkHeld(KurzError):
    kind = Kind.FORBIDDEN
    code = "link-held"
    title = "Link not screened yet"


class DestinationRefused(KurzError):
    kind = Kind.INVALID
    code = "destination-refused"
    title = "Destination not allowed"
    field = "original_url"


class LinkChanged(KurzError):
    kind = Kind.CONFLICT
    code = "link-changed"
    title = "Link was changed at the same time"


class VersionOutdated(KurzError):
    kind = Kind.CONFLICT
    code = "version-outdated"
    title = "Link has changed since you loaded it"


class InstantRefused(KurzError):
    kind = Kind.INVALID
    code = "instant-refused"
    title = "Invalid date or time"


class FieldRefused(KurzError):
    kind = Kind.INVALID
    code = "field-refused"
    title = "Invalid field value"


class StrategyRefused(KurzError):
    kind = Kind.INVALID
    code = "strategy-refused"
    title = "Invalid code strategy"
    field = "strategy"


class CursorRefused(KurzError):
    kind = Kind.INVALID
    code = "cursor-refused"
    title = "Invalid cursor"
    field = "cursor"


class CodesExhausted(Unavailable):
    code = "codes-exhausted"
    title = "No free code found"


class CounterStarted(KurzError):
    kind = Kind.CONFLICT
    code = "counter-started"
    title = "Counter already in use"


class SeriesRefused(KurzError):
    kind = Kind.INVALID
    code = "series-refused"
    title = "Code series cannot be continued"


class CustomCodeRefused(KurzError):
    kind = Kind.INVALID
    code = "custom-code-refused"
    title = "Invalid custom code"
    field = "custom_code"


class CustomCodeTaken(KurzError):
    kind = Kind.CONFLICT
    code = "custom-code-taken"
    title = "Custom code already taken"
    field = "custom_code"


def code_taken(code: str) -> CustomCodeTaken:
    return CustomCodeTaken(f"The code “{code}” is already taken. Choose another one.")


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
    title = "URL cannot be shortened"
    field = "original_url"

    def __init__(self, flaw: UrlFlaw, detail: str) -> None:
        super().__init__(detail, flaw=flaw)
        self.flaw = flaw


class LinkExpired(KurzError):
    kind = Kind.GONE
    code = "link-expired"
    title = "Link expired"


class LinkExhausted(KurzError):
    kind = Kind.GONE
    code = "link-exhausted"
    title = "Click limit reached"


class TagNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "tag-not-found"
    title = "Tag not found"


class ArchiveUnavailable(Unavailable):
    code = "archive-unavailable"
    title = "Archive unavailable"


class ArchiveFileNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "archive-file-not-found"
    title = "Archive file not found"


class ArchiveFileBroken(KurzError):
    kind = Kind.INVALID
    code = "archive-file-broken"
    title = "Archive file cannot be read"


class ArchiveFileForeign(KurzError):
    """It cannot be trusted: nobody knows who wrote it."""

    kind = Kind.INVALID
    code = "archive-file-foreign"
    title = "Archive file not signed by this installation"
