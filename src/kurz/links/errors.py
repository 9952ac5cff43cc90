"""What can go wrong with links."""

from enum import StrEnum

from kurz.errors import Conflict, Forbidden, Gone, Invalid, NotFound, Unavailable


class LinkNotFound(NotFound):
    title = "Link not found"


class LinkBanned(Gone):
    title = "Link taken down"


class LinkHeld(Forbidden):
    title = "Link not screened yet"


class DestinationRefused(Invalid):
    title = "Destination not allowed"
    field = "original_url"


class LinkChanged(Conflict):
    title = "Link was changed at the same time"


class VersionOutdated(Conflict):
    title = "Link has changed since you loaded it"


class InstantRefused(Invalid):
    title = "Invalid date or time"


class FieldRefused(Invalid):
    title = "Invalid field value"


class StrategyRefused(Invalid):
    title = "Invalid code strategy"
    field = "strategy"


class CursorRefused(Invalid):
    title = "Invalid cursor"
    field = "cursor"


class CodesExhausted(Unavailable):
    title = "No free code found"


class CounterStarted(Conflict):
    title = "Counter already in use"


class SeriesRefused(Invalid):
    title = "Code series cannot be continued"


class CustomCodeRefused(Invalid):
    title = "Invalid custom code"
    field = "custom_code"


class CustomCodeTaken(Conflict):
    title = "Custom code already taken"
    field = "custom_code"


def code_taken(code: str) -> CustomCodeTaken:
    return CustomCodeTaken(f"The code “{code}” is already taken. Choose another one.")


class UrlProblem(StrEnum):
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
    title = "URL cannot be shortened"
    field = "original_url"

    def __init__(self, reason: UrlProblem, detail: str) -> None:
        super().__init__(detail, reason=reason)
        self.reason = reason


class LinkExpired(Gone):
    title = "Link expired"


class LinkExhausted(Gone):
    title = "Click limit reached"


class TagNotFound(NotFound):
    title = "Tag not found"


class ArchiveUnavailable(Unavailable):
    title = "Archive unavailable"


class ArchiveFileNotFound(NotFound):
    title = "Archive file not found"


class ArchiveFileBroken(Invalid):
    title = "Archive file cannot be read"


class ArchiveFileForeign(Invalid):
    """It is not signed, so its origin is unknown."""

    title = "Archive file not signed by this installation"
