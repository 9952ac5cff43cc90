"""The files that a build of `web/` left in the package."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "files"

_TYPES = {".js": b"text/javascript; charset=utf-8", ".css": b"text/css; charset=utf-8"}
# Smallest first: the first that a browser accepts is sent.
_ENCODINGS = {b"br": ".br", b"gzip": ".gz"}
_PIECE = re.compile(rb"\s*([a-z*-]+)\s*(?:;\s*q\s*=\s*([0-9.]+)\s*)?")


class NotBuilt(Exception):
    """There are no files: `make web` builds them."""


@dataclass(frozen=True, slots=True)
class File:
    """`bodies` are the same text in several encodings; b"" is the plain text."""

    content_type: bytes
    bodies: dict[bytes, bytes]

    def best(self, accepted: bytes) -> tuple[bytes, bytes]:
        """The smallest body, and its encoding, for a browser with that Accept-Encoding."""
        known = _accepted(accepted)
        for encoding in _ENCODINGS:
            if encoding in known and encoding in self.bodies:
                return encoding, self.bodies[encoding]
        return b"", self.bodies[b""]


@dataclass(frozen=True, slots=True)
class PageFiles:
    """What a page loads: its script, the scripts that one imports, their styles."""

    script: str
    imports: list[str]
    styles: list[str]


class Files:
    """Whole in memory: there are few, and they are small."""

    def __init__(self, folder: Path = FOLDER) -> None:
        try:
            self._manifest = json.loads((folder / "manifest.json").read_bytes())
        except FileNotFoundError:
            raise NotBuilt(
                f"{folder} does not contain the dashboard's files. Run `make web`."
            ) from None
        self._files = {
            f"/assets/{path.name}": _read(path)
            for path in (folder / "assets").iterdir()
            if path.suffix in _TYPES
        }

    def find(self, path: str) -> File | None:
        return self._files.get(path)

    def entry(self, source: str) -> PageFiles:
        """By the name of its source in `web/`."""
        chunk = self._manifest[source]
        chunks = list(self._with_imports(source, set()))
        styles = [f"/{style}" for each in chunks for style in each.get("css", ())]
        imports = [f"/{each['file']}" for each in chunks if each is not chunk]
        return PageFiles(f"/{chunk['file']}", imports, list(dict.fromkeys(styles)))

    def _with_imports(self, source: str, seen: set[str]) -> list[dict[str, list[str]]]:
        """Imported ones first, as their styles come first."""
        if source in seen:
            return []
        seen.add(source)
        chunk = self._manifest[source]
        found = [one for name in chunk.get("imports", ()) for one in self._with_imports(name, seen)]
        return [*found, chunk]


@cache
def packaged_files() -> Files:
    """Those of this package, which do not change while it runs."""
    return Files()


def _read(path: Path) -> File:
    bodies = {b"": path.read_bytes()}
    for encoding, suffix in _ENCODINGS.items():
        compressed = path.with_name(path.name + suffix)
        if compressed.exists():
            bodies[encoding] = compressed.read_bytes()
    return File(_TYPES[path.suffix], bodies)


def _accepted(header: bytes) -> set[bytes]:
    """The encodings that are named and not refused (q=0)."""
    pieces = (_PIECE.fullmatch(piece) for piece in header.lower().split(b","))
    return {piece[1] for piece in pieces if piece and (piece[2] or b"1").strip(b"0.")}
