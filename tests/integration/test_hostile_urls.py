"""URLs that may not be shortened are refused in the same way everywhere."""

import pytest

from support.bad_input import API, DIALECT, check_problem, count_links
from support.engines import redis_in_the_long_run

engine = redis_in_the_long_run
HOSTILE_URLS = [
    "",
    " ",
    "/",
    "//example.com/",
    "///example.com/",
    "example.com",
    "www.example.com/path",
    "http",
    "http:",
    "http:/",
    "http://",
    "http:///path",
    "http://?q",
    "http://#f",
    "http:example.com",
    "https:/example.com",
    "http:\\\\example.com",
    "http://example.com\\@evil.example/",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java\tscript:alert(1)",
    " javascript:alert(1)",
    "\x01javascript:alert(1)",
    "javascript://example.com/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "blob:https://example.com/1",
    "intent://example.com#Intent;end",
    "ftp://example.com/",
    "ws://example.com/",
    "mailto:a@example.com",
    "about:blank",
    "view-source:http://example.com/",
    "http://user@example.com/",
    "http://user:secret@example.com/",
    "https://paypal.com@evil.example/",
    "http://@example.com/",
    "http://:@example.com/",
    "http://127.1/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://127.0.0.1./",
    "http://127.0.0.01/",
    "http://256.256.256.256/",
    "http://１２７.0.0.1/",
    "http://example.com/\r\nSet-Cookie: a=b",
    "http://example.com/\r\n\r\n<script>",
    "http://example.com/\x00",
    "http://example.com/\x7f",
    "http://example.com/\x85",
    "http://example.com/a b",
    "http://example.com/\u00a0",
    "http://example.com/\u2028x",
    "http://example.com/\u202egpj.exe",
    "http://exam\u200bple.com/",
    "http://example.com/\ufeff",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:-1/",
    "http://example.com:80a/",
    "http://[::1/",
    "http://[::g]/",
    "http://[fe80::1%25eth0]/",
    "http://a..b/",
    "http://.example.com/",
    "http://exa<mple.com/",
    "http://exa%00mple.com/",
    "http://exa mple.com/",
    "http://%65%78%61%6d%70%6c%65%00.com/",
    "http://" + "a" * 64 + ".example/",
    "http://" + "a." * 130 + "example/",
    "http://example.com/" + "a" * 2030,
    "http://example.com/" + "ä" * 500,
    "http://example.com/" + "\U0001f600" * 300,
]


@pytest.mark.parametrize("path", ["/", API, DIALECT])
async def test_hostile_urls_are_refused_in_the_same_way_everywhere(client, kurz, path):
    found = {}
    for url in HOSTILE_URLS:
        name = {API: "original_url", DIALECT: "originalUrl"}.get(path)
        request = {"json": {name: url}} if name else {"content": url.encode()}
        if not name and url != url.strip("\r\n"):
            continue
        found[url] = check_problem(await client.post(path, **request))
    assert found == dict.fromkeys(found, (422, "url-refused"))
    assert len(found) > 60
    assert await count_links(kurz) == 0
