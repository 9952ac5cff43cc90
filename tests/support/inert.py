"""Whether an answer can do anything in a browser or a spreadsheet because of what is in it."""

import csv
import io
import re
from html.parser import HTMLParser

import httpx2

# Types that a browser shows as text, as a picture without scripts, or not at all.
_PLAIN_TYPES = (
    "application/json",
    "application/jsonl",
    "application/problem+json",
    "application/x-ndjson",
    "text/csv",
    "text/event-stream",
    "text/plain",
    "image/svg+xml",
    "image/png",
)
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠\t\r\n]")


class Shape(HTMLParser):
    """The tags of a page with the names of their attributes, and where its links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.leads_to: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "span":  # one for each label of a host
            assert not attrs
            return
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.leads_to += [value or "" for name, value in attrs if name in ("href", "src", "action")]

    def handle_comment(self, data: str) -> None:
        self.tags.append(("!--", (data,)))


def check(answer: httpx2.Response, alike: str | None = None) -> None:
    """`alike` is the same page with harmless text in it; without it no page may come."""
    headers = answer.headers
    kind = headers.get("content-type", "").partition(";")[0]
    assert headers.get_list("x-content-type-options") == ["nosniff"], answer.request.url
    [policy] = headers.get_list("content-security-policy")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for name, value in answer.headers.multi_items():
        assert value.isascii(), (name, value)
        assert value.isprintable(), (name, value)
        assert name == "location" or "alert" not in value, (name, value)
    if kind == "text/html":
        assert alike is not None, (answer.request.url, "a page")
        found, wanted = Shape(answer.text), Shape(alike)
        assert found.tags == wanted.tags, answer.text
        for address in found.leads_to:
            assert re.match(r"(https?://|\.?/(?!/)|data:image/svg)", address), address
    elif answer.content:
        assert kind in _PLAIN_TYPES, (answer.request.url, kind)
    if kind == "image/svg+xml":
        assert {tag for tag, _ in Shape(answer.text).tags} <= {"svg", "rect", "path"}, answer.text


def check_csv(text: str) -> list[list[str]]:
    """The cells, none of which a spreadsheet runs, wherever it thinks that cells and rows begin."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    for cell in (cell for row in rows for cell in row):
        assert not _FORMULA.match(cell), cell
    for cell in re.split(r"[;\t\r\n]", text):
        assert not _FORMULA.match(cell.lstrip('" ')), cell
    return rows
