"""The table of rules says what a plain model of them says, and nothing that is damaged."""

import re
from collections.abc import Sequence
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.links.urls import take_apart
from kurz.safety import list_table
from kurz.safety.blocklists import ListRule
from kurz.safety.list_table import (
    ALLOWED,
    BLOCKED,
    MOST_ALIKE,
    Table,
    TableBroken,
    TableBuilder,
)


def table_of(*rules: ListRule, about: dict[str, object] | None = None) -> Table:
    builder = TableBuilder()
    for rule in rules:
        builder.add(rule)
    return Table(memoryview(builder.to_bytes(about or {})))


def marks(table: Table, url: str) -> int:
    address = take_apart(url)
    assert address is not None
    return table.find(address) & (BLOCKED | ALLOWED)


@pytest.mark.parametrize(
    ("rule", "url", "is_named"),
    [
        (ListRule("example.com"), "https://example.com/", True),
        (ListRule("example.com"), "https://example.com./x?y#z", True),
        (ListRule("example.com"), "http://example.com:8080/", True),
        (ListRule("example.com"), "https://a.b.c.example.com/", True),
        (ListRule("example.com"), "https://notexample.com/", False),
        (ListRule("example.com"), "https://example.com.evil.org/", False),
        (ListRule("example.com"), "https://com/", False),
        (ListRule("zip"), "https://invoice.zip/", True),
        (ListRule("192.0.2.7"), "http://192.0.2.7/", True),
        (ListRule("192.0.2.7"), "http://192.0.2.70/", False),
        (ListRule("192.0.2.7"), "http://[::ffff:c000:207]/x", True),
        (ListRule("192.0.2.7"), "http://[::ffff:c000:208]/x", False),
        (ListRule("[2001:db8::1]"), "http://[2001:db8::1]:81/", True),
        (ListRule("example.com", "8443"), "https://example.com:8443/x", True),
        (ListRule("example.com", "8443"), "https://www.example.com:8443/x", True),
        (ListRule("example.com", "8443"), "https://example.com/", False),
        (ListRule("example.com", path=("/bad",)), "http://example.com/bad", True),
        (ListRule("example.com", path=("/bad",)), "http://example.com/bad?x=1#y", True),
        (ListRule("example.com", path=("/bad",)), "http://example.com/%62ad", True),
        (ListRule("example.com", path=("/bad",)), "http://sub.example.com/bad", True),
        (ListRule("example.com", path=("/bad",)), "http://example.com/badly", False),
        (ListRule("example.com", path=("/bad",)), "http://example.com/", False),
        (ListRule("example.com", path=("/bad?x=1",)), "http://example.com/bad?x=1", True),
        (ListRule("example.com", path=("/bad?x=1",)), "http://example.com/bad?x=2", False),
        (ListRule("example.com", "81", ("/x",)), "http://example.com:81/x", True),
        (ListRule("example.com", "81", ("/x",)), "http://example.com/x", False),
        (ListRule("example.com", path=("/bad", "")), "http://example.com/badly", True),
        (ListRule("example.com", path=("/bad", "")), "http://example.com/good/bad", False),
        (ListRule("example.com", path=("/", "/b", "d")), "http://example.com/a/bad", True),
        (ListRule("example.com", path=("/", "/b", "d")), "http://example.com/a/bade", False),
        (ListRule("example.com", path=("/a", "a")), "http://example.com/a", False),
        (ListRule("example.com", "81", ("/b", "")), "http://example.com:81/bad", True),
        (ListRule("example.com", "81", ("/b", "")), "http://example.com:82/bad", False),
        (ListRule("example.com", path=("/a*b",)), "http://example.com/a*b", True),
        (ListRule("example.com", path=("/a*b",)), "http://example.com/a%2Ab", True),
        (ListRule("example.com", path=("/a*b",)), "http://example.com/aXb", False),
        (ListRule("example.com", path=("/a\nb", "")), "http://example.com/a%0Abc", True),
        (ListRule("example.com", path=("/a\nb", "")), "http://example.com/a", False),
        (ListRule(".".join("a" * 80)), "http://b." + ".".join("a" * 80) + "/", True),
        (ListRule(".".join("a" * 80)), "http://" + ".".join("a" * 79) + "/", False),
    ],
)
def test_what_a_rule_names(rule, url, is_named):
    assert marks(table_of(rule), url) == (BLOCKED if is_named else 0)
    allowed = rule._replace(is_exception=True)
    assert marks(table_of(allowed), url) == (ALLOWED if is_named else 0)


def test_a_host_may_have_several_marks():
    table = table_of(
        ListRule("example.com"),
        ListRule("good.example.com", is_exception=True),
        ListRule("example.com", path=("/fine", ""), is_exception=True),
    )
    assert marks(table, "https://example.com/") == BLOCKED
    assert marks(table, "https://good.example.com/") == BLOCKED | ALLOWED
    assert marks(table, "https://example.com/fine") == BLOCKED | ALLOWED


LABELS = st.sampled_from(["a", "b", "ab", "xn--a", "com"])
HOSTS = st.lists(LABELS, min_size=1, max_size=5).map(".".join)


@given(st.lists(st.tuples(HOSTS, st.booleans())), HOSTS)
def test_hosts_are_named_as_by_a_plain_model(rules, host):
    table = table_of(*(ListRule(name, is_exception=is_fine) for name, is_fine in rules))
    expected = 0
    for name, is_fine in rules:
        if f".{host}".endswith(f".{name}"):
            expected |= ALLOWED if is_fine else BLOCKED
    assert marks(table, f"https://{host}/") == expected


def test_many_hosts_are_all_found_and_no_others():
    table = table_of(*(ListRule(f"host-{n}.example") for n in range(20_000)))
    assert table.hosts == 20_000
    assert all(marks(table, f"http://host-{n}.example/") == BLOCKED for n in range(20_000))
    assert not any(marks(table, f"http://host-{n}.example/") for n in range(20_000, 40_000))


PIECES = st.text("ab\u00fc/", max_size=3)
PATHS = st.lists(PIECES, min_size=2, max_size=3).map(lambda pieces: ("/" + pieces[0], *pieces[1:]))


@given(st.lists(st.tuples(PATHS, st.booleans())), st.text("ab\u00fc/", max_size=8))
def test_paths_fit_patterns_as_by_a_plain_model(patterns, path):
    table = table_of(
        *(ListRule("a.example", None, pieces, is_fine) for pieces, is_fine in patterns)
    )
    expected = 0
    for pieces, is_fine in patterns:
        if re.fullmatch(".*".join(map(re.escape, pieces)), "/" + path):
            expected |= ALLOWED if is_fine else BLOCKED
    assert marks(table, f"https://a.example/{quote(path)}") == expected


def test_few_of_many_patterns_of_a_host_are_tried(monkeypatch):
    table = table_of(*(ListRule("a.example", path=(f"/{n:06}", "")) for n in range(20_000)))
    tried = []

    def fits(pieces: Sequence[str], target: str) -> bool:
        tried.append(pieces)
        return target.startswith(pieces[0])

    monkeypatch.setattr(list_table, "_fits", fits)
    assert marks(table, "https://a.example/012345/x") == BLOCKED
    assert marks(table, "https://a.example/x") == 0
    assert tried == [["/012345", ""]]


def test_no_host_has_more_patterns_that_begin_alike_than_can_be_tried():
    builder = TableBuilder()
    rules = [ListRule("a.example", path=("/", f"{n}")) for n in range(MOST_ALIKE + 1)]
    assert [builder.add(rule) for rule in rules] == [True] * MOST_ALIKE + [False]
    assert builder.add(rules[0])
    assert builder.add(ListRule("a.example", path=("/x", "1")))
    assert builder.add(ListRule("b.example", path=("/", "1")))
    builder.go_back((0, 0))
    assert builder.add(rules[-1])


def test_what_was_taken_back_is_not_in_it():
    builder = TableBuilder()
    builder.add(ListRule("a.example"))
    position = builder.position()
    builder.add(ListRule("b.example"))
    builder.add(ListRule("b.example", path=("/x", "")))
    builder.go_back(position)
    table = Table(memoryview(builder.to_bytes({})))
    assert marks(table, "http://a.example/") == BLOCKED
    assert marks(table, "http://b.example/x") == 0


def test_what_is_known_of_it_comes_along():
    assert table_of(about={"digest": "ü"}).about == {"digest": "ü"}


DATA = TableBuilder().to_bytes({"a": 1})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"kurzlist",
        DATA[:-1],
        DATA + b"\0",
        DATA[:-1] + bytes([DATA[-1] ^ 1]),
        DATA[:20] + bytes([DATA[20] ^ 1]) + DATA[21:],
        b"another1" + DATA[8:],
        b"\0" * len(DATA),
    ],
)
def test_what_is_damaged_or_foreign_is_refused(data):
    with pytest.raises(TableBroken):
        Table(memoryview(data))
