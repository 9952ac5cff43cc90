"""The target of a request that names a whole URL."""

import httptools


def split_host(url: bytes) -> tuple[bytes, bytes]:
    """The host with its port, and the path with its query. `ValueError` if kurz cannot answer for
    this URL."""
    parsed = httptools.parse_url(url)
    if parsed.schema not in (b"http", b"https") or not parsed.host or parsed.userinfo:
        raise ValueError("not a URL of ours")
    host = b"[%s]" % parsed.host if b":" in parsed.host else parsed.host
    host = b"%s:%d" % (host, parsed.port) if parsed.port else host
    return host, (parsed.path or b"/") + (b"?" + parsed.query if parsed.query else b"")
