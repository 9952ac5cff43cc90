"""Lists as they are published: every usual format, and what is none."""

import pytest

from kurz.safety.blocklists import ListRule, ListUnreadable, Reading


def read(*lines: str | bytes) -> list[ListRule]:
    return [*Reading([line.encode() if isinstance(line, str) else line for line in lines])]


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("example.com", [ListRule("example.com")]),
        ("  EXAMPLE.com.  ", [ListRule("example.com")]),
        ("0.0.0.0 example.com", [ListRule("example.com")]),
        ("127.0.0.1\texample.com # bad", [ListRule("example.com")]),
        ("::1 a.example b.example", [ListRule("a.example"), ListRule("b.example")]),
        ("||example.com^", [ListRule("example.com")]),
        ("||zip^", [ListRule("zip")]),
        ("||example.com^$important,document", [ListRule("example.com")]),
        ("@@||example.com^", [ListRule("example.com", is_exception=True)]),
        ("||example.com/bad", [ListRule("example.com", path=("/bad", ""))]),
        (
            "||example.com/bad^",
            [ListRule("example.com", path=("/bad",)), ListRule("example.com", path=("/bad/", ""))],
        ),
        (
            "@@||example.com/b?x=1^",
            [
                ListRule("example.com", path=("/b?x=1",), is_exception=True),
                ListRule("example.com", path=("/b?x=1&", ""), is_exception=True),
            ],
        ),
        ("|https://example.com/bad|", [ListRule("example.com", path=("/bad",))]),
        ("*.example.com", [ListRule("example.com")]),
        ("address=/a.example/b.example/0.0.0.0", [ListRule("a.example"), ListRule("b.example")]),
        ("bad.example CNAME .", [ListRule("bad.example")]),
        ("https://example.com", [ListRule("example.com")]),
        ("https://example.com/", [ListRule("example.com")]),
        ("HTTPS://example.com/Bad?x=1#part", [ListRule("example.com", path=("/Bad?x=1",))]),
        ("example.com/b*d", [ListRule("example.com", path=("/b", "d"))]),
        ("example.com/%62ad", [ListRule("example.com", path=("/bad",))]),
        ("example.com/a%2ab", [ListRule("example.com", path=("/a*b",))]),
        ("example.com/a%2Ab*", [ListRule("example.com", path=("/a*b", ""))]),
        ("example.com/a%0Ab*", [ListRule("example.com", path=("/a\nb", ""))]),
        ("http://192.0.2.7:8080/x.sh", [ListRule("192.0.2.7", "8080", ("/x.sh",))]),
        ("example.com:8443", [ListRule("example.com", "8443")]),
        ("192.0.2.7", [ListRule("192.0.2.7")]),
        ("0xC0000207", [ListRule("192.0.2.7")]),
        ("2001:DB8::0:1", [ListRule("[2001:db8::1]")]),
        ("[2001:db8::1]", [ListRule("[2001:db8::1]")]),
        ("::ffff:192.0.2.7", [ListRule("192.0.2.7")]),
        ("http://[::FFFF:c000:207]:8080/x.sh", [ListRule("192.0.2.7", "8080", ("/x.sh",))]),
        ("bücher.example", [ListRule("xn--bcher-kva.example")]),
        ("bücher.example/straße", [ListRule("xn--bcher-kva.example", path=("/straße",))]),
        ("\ufeffexample.com", [ListRule("example.com")]),
        ("a_b.example.com", [ListRule("a_b.example.com")]),
    ],
)
def test_what_lines_say(line, rules):
    assert read(line) == rules


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# example.com",
        "! Title: a list",
        "; example.com",
        "[Adblock Plus 2.0]",
        "// example.com",
        "127.0.0.1 localhost",
        "::1 ip6-localhost ip6-loopback",
        "0.0.0.0 0.0.0.0",
        "example.com##.banner",
        "||example.com^$third-party",
        "||example.com^$script,domain=other.example",
    ],
)
def test_what_lines_say_nothing(line):
    reading = Reading([line.encode()])
    assert [*reading] == []
    assert reading.bad == 0


@pytest.mark.parametrize(
    "line",
    [
        "word",
        "two words",
        "<html>",
        "a..b",
        "user@example.com",
        "ads*.example.com",
        "192.0.2.0/24",
        "x" * 64 + ".example",
        "exa%00mple.com",
        b"\xff\xfe.example",
        "example.com/" + "x" * 9000,
        "/banner[0-9]+/",
    ],
)
def test_lines_that_nobody_understands_are_counted(line):
    good = b"example.com"
    reading = Reading([good, line.encode() if isinstance(line, str) else line])
    assert [*reading] == [ListRule("example.com")]
    assert (reading.rules, reading.bad) == (1, 1)


def test_a_list_whose_lines_are_mostly_bad_is_none():
    with pytest.raises(ListUnreadable, match="neither hosts nor URLs"):
        read("<!doctype html>", "<title>Not found</title>", "example.com", "<p>Sorry.</p>")


def test_a_binary_file_is_none():
    with pytest.raises(ListUnreadable, match="not a text"):
        read("example.com", b"PK\x03\x04\x00\x00")
