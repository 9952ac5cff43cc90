"""What can go wrong with links."""

from enum import StrEnum

from kurz.errors import Conflict, Forbidden, Gone, Invalid, NotFound, Unavailable


class LinkNotFound(NotFound):
    code = "link-not-found"
    title = "Link not found"


class LinkBanned(Gone):
    code = "link-banned"
    title = "Link taken down"


class LinkHeld(Forbidden):
    code = "link-held"
    title = "Link not screened yet"


class DestinationRefused(Invalid):
    code = "destination-refused"
    title = "Destination not allowed"
    field = "original_url"


class LinkChanged(Conflict):
    code = "link-changed"
    title = "Link was changed at the same time"


class VersionOutdated(Conflict):
    code = "version-outdated"
    title = "Link has changed since you loaded it"


class InstantRefused(Invalid):
    code = "instant-refused"
    title = "Invalid date or time"


class FieldRefused(Invalid):
    code = "field-refused"
    title = "Invalid field value"


class StrategyRefused(Invalid):
    code = "strategy-refused"
    title = "Invalid code strategy"
    field = "strategy"


class CursorRefused(Invalid):
    code = "cursor-refused"
    title = "Invalid cursor"
    field = "cursor"


class CodesExhausted(Unavailable):
    code = "codes-exhausted"
    title = "No free code found"


class CounterStarted(Conflict):
    code = "counter-started"
    title = "Counter already in use"


class SeriesRefused(Invalid):
    code = "series-refused"
    title = "Code series cannot be continued"


class CustomCodeRefused(Invalid):
    code = "custom-code-refused"
    title = "Invalid custom code"
    field = "custom_code"


class CustomCodeTaken(Conflict):
    code = "custom-code-taken"
    title = "Custom code already taken"
    field = "custom_code"


def code_taken(code: str) -> CustomCodeTaken:
    return CustomCodeTaken(f"The code “{code}” is already taken. Choose another one.")


class UrlFlaw(StrEnum):
    """What is wrong with a URL, for programs that show their own text."""

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


class UrlRefused(Invalid):
    code = "url-refused"
    title = "URL cannot be shortened"
    field = "original_url"

    def __init__(self, flaw: UrlFlaw, detail: str) -> None:
        super().__init__(detail, flaw=flaw)
        self.flaw = flaw


class LinkExpired(Gone):
    code = "link-expired"
    title = "Link expired"


class LinkExhausted(Gone):
    code = "link-exhausted"
    title = "Click limit reached"


class TagNotFound(NotFound):
    code = "tag-not-found"
    title = "Tag not found"


class ArchiveUnavailable(Unavailable):
    code = "archive-unavailable"
    title = "Archive unavailable"


class ArchiveFileNotFound(NotFound):
    code = "archive-file-not-found"
    title = "Archive file not found"


class ArchiveFileBroken(Invalid):
    code = "archive-file-broken"
    title = "Archive file cannot be read"


class ArchiveFileForeign(Invalid):
    """It cannot be trusted: nobody knows who wrote it."""

    code = "archive-file-foreign"
    title = "Archive file not signed by this installation"
