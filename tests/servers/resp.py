"""Just enough of RESP, the protocol of Redis, to see where a reply ends."""

_LINES = b"+-:_#,("
_BLOBS = b"$=!"
_ITEMS = {b"*": 1, b"~": 1, b">": 1, b"%": 2, b"|": 2}  # replies in it for each that it counts


class Replies:
    """Cuts what a server sends into whole replies. What is not RESP comes out as it went in."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_resp = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """The replies that are whole by now; the beginning of another one waits for its rest."""
        data, start = self._rest + chunk, 0
        whole = []
        try:
            while self._is_resp and (end := _end(data, start)):
                whole.append(data[start:end])
                start = end
        except ValueError:
            self._is_resp = False
        self._rest = data[start:]
        return whole if self._is_resp else [*whole, self.rest()]

    def rest(self) -> bytes:
        """The beginning of a reply of which nothing more will come."""
        rest, self._rest = self._rest, b""
        return rest


def _end(data: bytes, start: int) -> int | None:
    """Where the reply ends that begins there; None while it is not whole."""
    kind = data[start : start + 1]
    if kind not in _LINES and kind not in _BLOBS and kind not in _ITEMS:
        raise ValueError(kind)
    line_end = data.find(b"\r\n", start)
    if line_end < 0:
        return None
    end: int | None = line_end + 2
    if kind in _LINES:
        return end
    count = int(data[start + 1 : line_end])
    if kind in _BLOBS:
        end = line_end + 2 + (count + 2 if count >= 0 else 0)
        return end if end <= len(data) else None
    for _ in range(count * _ITEMS[kind] + (kind == b"|")):  # what an attribute is of, follows it
        end = None if end is None else _end(data, end)
    return end
