"""The part of a request's head that many requests repeat: parsed once, then remembered.

Behind a proxy, each request on a connection comes from another visitor. Apart from lines that
differ in each request, their browsers send the same few thousand sets of lines."""

import re
from array import array
from collections import OrderedDict
from typing import Final, NamedTuple

from kurz.clicks.record import COUNT_ONLY, PREFETCH
from kurz.clicks.trimming import language_of as tag_of
from kurz.redirect.answers.languages import language_of
from kurz.redirect.preview_bots import is_prefetch
from kurz.request_parser import WholeRequestParser

MAX_BYTES: Final = 14 * 1024 * 1024  # about 11,000 browsers
MAX_PART_BYTES: Final = 2048  # longer ones are parsed each time
_OWN_BYTES = 550  # memory of an entry without its part and its user agent
_SEEN = 2**16  # parts that came once, of which only the hash is stored
_END = b"\r\n\r\n"
# A value that the parser accepts in any case.
_VALUE = rb"[!-~\x80-\xff][\t -~\x80-\xff]*+(?<![ \t])"
# Lines that differ in each request: without them, the rest repeats. Only those with a group are
# used for the click. The lookahead rejects most lines by their first letter.
_VARYING = re.compile(
    rb"\r\n(?=[AaCcFfRrTtXx])(?:"
    rb"[Xx]-(?:"
    rb"[Ff]orwarded-[Ff]or: ?(%(value)b)"
    rb"|(?i:request-id|client-ip|real-ip|correlation-id|unique-id|amzn-trace-id|cloud-trace-context"
    rb"|azure-ref|b3-traceid|b3-spanid|api-key): ?%(value)b)"
    rb"|[Rr]eferer: ?(%(value)b)"
    rb"|(?i:cookie|authorization|cf-ray|cf-connecting-ip|cf-ipcountry|true-client-ip|fly-client-ip"
    rb"|fly-request-id|traceparent|tracestate): ?%(value)b"
    rb")(?=\r\n[^ \t])" % {b"value": _VALUE}  # the next line does not continue this one
)
# A part with any other line is parsed each time: that line may hold an address or a secret.
_COMMON = frozenset(
    {
        b"accept",
        b"accept-charset",
        b"accept-encoding",
        b"accept-language",
        b"cache-control",
        b"cdn-loop",
        b"cf-visitor",
        b"connection",
        b"dnt",
        b"host",
        b"pragma",
        b"priority",
        b"purpose",
        b"save-data",
        b"sec-ch-ua",
        b"sec-ch-ua-mobile",
        b"sec-ch-ua-platform",
        b"sec-fetch-dest",
        b"sec-fetch-mode",
        b"sec-fetch-site",
        b"sec-fetch-user",
        b"sec-gpc",
        b"sec-purpose",
        b"te",
        b"upgrade-insecure-requests",
        b"user-agent",
        b"via",
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"x-forwarded-proto",
        b"x-forwarded-scheme",
        b"x-moz",
        b"x-purpose",
    }
)
split = _VARYING.split
"""The repeated pieces of a head are at 0, 3, 6, …. Each but the last is followed by X-Forwarded-For
and Referer, or None for the one that was not there."""


class Repeated(NamedTuple):
    """`page_language` is the language of pages, and empty for clients that do not accept pages.
    `language` is the one that the click records."""

    host: bytes
    user_agent: bytes
    language: bytes
    flags: int  # of the click
    page_language: str
    closes: bool  # the connection ends after the answer


class RepeatedParts:
    """A part is remembered when it comes for the second time, so a flood of different parts cannot
    push out those that many visitors send. If there is no room, the oldest parts are dropped."""

    def __init__(self) -> None:
        self.known: OrderedDict[bytes, Repeated] = OrderedDict()
        self.bytes = 0
        self._parser = HeadParser()
        self._seen = array("q", bytes(8 * _SEEN))

    def find(self, part: bytes) -> Repeated | None:
        """What a head without its varying lines says; None if it takes the ASGI path."""
        return self.known.get(part) or self._read(part)

    def _read(self, part: bytes) -> Repeated | None:
        # What follows the end of a head must not be taken for one of its varying lines.
        if part.find(_END) != len(part) - len(_END):
            return None
        fields = self._parser.fields_of(b"GET /" + part)
        if fields is None or b"x-forwarded-for" in fields or b"referer" in fields:
            return None
        get = fields.get
        flags = PREFETCH if is_prefetch(get) else 0
        if get(b"sec-gpc") == b"1" or get(b"dnt") == b"1":
            flags |= COUNT_ONLY
        language = get(b"accept-language", b"")
        wants_page = b"text/html" in get(b"accept", b"").lower()
        repeated = Repeated(
            get(b"host", b""),
            get(b"user-agent", b""),
            tag_of(language),
            flags,
            language_of(language) if wants_page else "",
            self._parser.closes,
        )
        if len(part) <= MAX_PART_BYTES and fields.keys() <= _COMMON:
            self._remember(part, repeated)
        return repeated

    def _remember(self, part: bytes, repeated: Repeated) -> None:
        number = hash(part)
        place = number & _SEEN - 1
        if self._seen[place] != number:
            self._seen[place] = number
            return
        self.known[part] = repeated
        self.bytes += _size_of(part, repeated)
        while self.bytes > MAX_BYTES:
            self.bytes -= _size_of(*self.known.popitem(last=False))


def _size_of(part: bytes, repeated: Repeated) -> int:
    return len(part) + len(repeated.user_agent) + _OWN_BYTES


class HeadParser(WholeRequestParser):
    """Accepts bytes only if they are one whole request and need nothing that the lane lacks."""

    _takes_last = True

    def __init__(self) -> None:
        self._fields: dict[bytes, bytes] = {}
        # Called by the parser for every field. A method in Python takes twice as long.
        self.on_header = self._fields.__setitem__
        super().__init__()

    def fields_of(self, data: bytes) -> dict[bytes, bytes] | None:
        """The header fields, names in lower case; None for anything else."""
        self._fields.clear()
        if not self.is_whole(data):
            return None
        fields = {name.lower(): value for name, value in self._fields.items()}
        # One line per field, the request line and the empty line. Otherwise, a name came twice.
        return fields if len(fields) == data.count(b"\r\n") - 2 else None

    def on_body(self, _: bytes) -> None:
        self._is_ordinary = False

    def on_chunk_header(self) -> None:
        self._is_ordinary = False  # fields after chunks are not header fields
