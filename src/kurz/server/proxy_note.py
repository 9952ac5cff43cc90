"""What a server has noticed about the proxy in front of it, for `kurz doctor`."""

from contextlib import suppress
from pathlib import Path

from kurz.errors import KurzError
from kurz.files import read_regular, written_whole

MAX_BYTES = 1024


class ProxyNote:
    """A sentence in a file of the data folder. A failure to write it is ignored: the log has it
    too."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, sentence: str | None) -> None:
        """None: there is nothing wrong."""
        with suppress(OSError, KurzError):
            if sentence is None:
                self._path.unlink(missing_ok=True)
                return
            with written_whole(self._path) as file:
                file.write(sentence.encode())

    def read(self) -> str | None:
        try:
            text = (read_regular(self._path, MAX_BYTES) or b"").decode("ascii")
        except (OSError, UnicodeDecodeError):
            return None
        return text if text and text.isprintable() else None
