"""The head of a request, as the lane reads it."""

from kurz.people.limits import subject_of_address
from kurz.people.workspaces import Site
from kurz.redirect.entry import prefix_of
from kurz.request_parser import WholeRequestParser


class RequestHead:
    """What the head of a request says, whatever its target. Most connections send the same head
    again and again, so it is parsed once. `page_language` is the language of pages, and empty for
    clients that want no pages. `closes`: the connection ends after the answer."""

    __slots__ = (
        "address",
        "closes",
        "epoch",
        "is_custom_domain",
        "page_language",
        "prefix",
        "visit",
    )

    def __init__(
        self,
        epoch: object,
        site: Site,
        visit: bytes,
        address: str,
        page_language: str,
        *,
        closes: bool,
    ) -> None:
        self.closes = closes
        self.epoch = epoch
        self.address = address
        self.prefix = prefix_of(site.workspace_id)
        self.is_custom_domain = site.is_custom_domain
        self.visit = visit
        self.page_language = page_language

    @property
    def subject(self) -> str:
        """Who is charged for a miss."""
        return subject_of_address(self.address)


class HeadParser(WholeRequestParser):
    """Accepts a chunk only if it is one whole request and needs nothing that the lane lacks."""

    _takes_last = True

    def __init__(self) -> None:
        self._fields: dict[bytes, bytes] = {}
        # Called by the parser for every field. A method in Python takes twice as long.
        self.on_header = self._fields.__setitem__
        super().__init__()

    def fields_of(self, data: bytes, head: bytes) -> dict[bytes, bytes] | None:
        """The header fields, names in lower case; None if the chunk is anything else."""
        self._fields.clear()
        if not self.is_whole(data):
            return None
        fields = {name.lower(): value for name, value in self._fields.items()}
        # One line per field, the request line and the empty line: otherwise a name came twice.
        return fields if len(fields) == head.count(b"\r\n") - 2 else None

    def on_body(self, _: bytes) -> None:
        self._is_ordinary = False

    def on_chunk_header(self) -> None:
        self._is_ordinary = False  # fields after chunks are not header fields
