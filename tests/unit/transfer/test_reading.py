"""Files are read as they arrive, and what cannot be read costs its own row only."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.links.transfers import TransferFormat
from kurz.transfer.errors import FileRefused
from kurz.transfer.reading import MAX_LINE_BYTES, Record, reader


def read(
    data: bytes, kind: TransferFormat = TransferFormat.CSV, size: int = 1 << 20
) -> list[tuple[int, object]]:
    """The records of a file that arrives in chunks of `size`."""
    reading = reader(kind)
    found: list[tuple[int, object]] = []
    for start in range(0, len(data), size):
        found += _without_ends(reading.feed(data[start : start + size]))
    return [*found, *_without_ends(reading.end())]


def _without_ends(records: Iterable[Record]) -> list[tuple[int, object]]:
    return [(line, found) for line, found, _ in records]


def urls(data: bytes, kind: TransferFormat = TransferFormat.CSV) -> list[object]:
    return [x["original_url"] if isinstance(x, dict) else None for _, x in read(data, kind)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_a_plain_file_is_read(end, start, last):
    data = start + end.join([b"short_code,original_url", b"a,x", b"b,y"]) + (end if last else b"")
    assert read(data) == [
        (2, {"short_code": "a", "original_url": "x"}),
        (3, {"short_code": "b", "original_url": "y"}),
    ]


def test_the_header_decides_the_delimiter():
    assert urls(b"url;title\nhttps://x/,;a\n") == ["https://x/,"]
    assert urls(b"url,title\nhttps://x/;,a\n") == ["https://x/;"]
    assert urls(b"url\nhttps://x/\n") == ["https://x/"]


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        ("url,code", ["original_url", "short_code"]),
        ("longUrl,shortCode,visits", ["original_url", "short_code", "redirect_count"]),
        ("long_url,slug,dateCreated", ["original_url", "short_code", "created_at"]),
        ("target,keyword,clicks", ["original_url", "short_code", "redirect_count"]),
        ("url,date", ["original_url", "created_at"]),
        ("Original URL,alias,Created", ["original_url", "short_code", "created_at"]),
    ],
)
def test_other_programs_names_are_understood(header, fields):
    row = ",".join("x" for _ in fields)
    assert list(read(f"{header}\n{row}\n".encode())[0][1]) == fields  # type: ignore[call-overload]
    line = json.dumps(dict.fromkeys(header.split(","), "x"))
    assert list(read(line.encode(), TransferFormat.JSONL)[0][1]) == fields  # type: ignore[call-overload]


def test_unknown_columns_are_named():
    with pytest.raises(FileRefused, match="“colour”, “\\?size”"):
        read(b"url,colour,\x1bsize\nx,y,z\n")
    [(line, sentence)] = read(b'{"url": "x", "colour": 1}', TransferFormat.JSONL)
    assert line == 1
    assert "“colour”" in str(sentence)


def test_two_names_of_one_field_are_refused():
    with pytest.raises(FileRefused, match="“url” and “longUrl”"):
        read(b"url,longUrl\nx,y\n")


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_csv_file_is_refused(data):
    with pytest.raises(FileRefused, match="empty"):
        read(data)


def test_an_empty_file_of_json_lines_has_no_rows():
    assert read(b"", TransferFormat.JSONL) == []
    assert read(b"\n  \r\n", TransferFormat.JSONL) == []


def test_a_cell_may_have_several_lines():
    data = b'url,notes\nx,"one\r\n""two"", three\n\nfour"\ny,z\n'
    assert read(data) == [
        (2, {"original_url": "x", "notes": 'one\n"two", three\n\nfour'}),
        (6, {"original_url": "y", "notes": "z"}),
    ]


def test_a_quote_that_is_never_closed_costs_one_row():
    data = b'url,title\na,"open\n' + b"b,fine\n" * 3
    assert urls(data) == [None, "b", "b", "b"]
    assert urls(data + b'c,"two\nlines"\nd,e\n') == [None, "b", "b", "b", "c", "d"]


def test_a_quote_inside_a_cell_is_itself():
    assert [x for _, x in read(b'url,title\na,5" pipe\nb,6" pipe\n')] == [
        {"original_url": "a", "title": '5" pipe'},
        {"original_url": "b", "title": '6" pipe'},
    ]


def test_a_quote_that_stays_open_for_long_costs_one_row():
    many = b"b,fine\n" * (MAX_LINE_BYTES // 7 + 10)
    found = urls(b'url,title\na,"open\n' + many + b'c,"x"\n')
    assert found[0] is None
    assert set(found[1:-1]) == {"b"}
    assert found[-1] == "c"


def test_a_row_with_another_number_of_cells_is_refused():
    found = read(b"url,title\na\nb,c,d\ne,f\n")
    assert [isinstance(x, str) for _, x in found] == [True, True, False]


@pytest.mark.parametrize("kind", list(TransferFormat))
@pytest.mark.parametrize("size", [1 << 20, 1000])
def test_a_long_line_costs_itself_and_no_memory(kind, size):
    good = b"x,y\n" if kind is TransferFormat.CSV else b'{"original_url": "x"}\n'
    head = b"url,title\n" if kind is TransferFormat.CSV else b"\n"
    data = head + good + b"z" * (MAX_LINE_BYTES + 1) + b"\n" + good + b"z" * 300_000
    found = read(data, kind, size)
    assert [line for line, _ in found] == [2, 3, 4, 5]
    assert [isinstance(x, str) for _, x in found] == [False, True, False, True]


def test_a_header_that_is_too_long_is_refused():
    with pytest.raises(FileRefused):
        read(b"x" * (MAX_LINE_BYTES + 1) + b"\nurl\nx\n")


@pytest.mark.parametrize(
    "line", [b"{", b"[1]", b"7", b'"x"', b"null", b"[" * 60_000, b"\xff", b'{"url": ' + b"9" * 5000]
)
def test_a_broken_line_of_json_costs_itself(line):
    good = b'{"original_url": "x"}\n'
    found = read(good + line + b"\n" + good, TransferFormat.JSONL)
    assert [isinstance(x, str) for _, x in found] == [False, True, False]


def test_what_is_empty_is_absent():
    line = b'{"url": "x", "title": null, "notes": "", "tags": [], "forward_query": false}'
    expected = {"original_url": "x", "tags": [], "forward_query": False}
    assert read(line, TransferFormat.JSONL) == [(1, expected)]
    assert read(b"url,title\nx,\n") == [(2, {"original_url": "x"})]


def test_bytes_that_are_no_text_stay_recognisable():
    [(_, record)] = read(b"url,title\nx,\xff\n")
    assert record == {"original_url": "x", "title": "\udcff"}


cells = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12
) | st.sampled_from(['"', '""', ",", ";", "\n", '\n"', "=1", "'=1", "''", " "])


@given(st.lists(st.tuples(cells, cells), max_size=8), st.integers(1, 40))
def test_what_a_csv_writer_writes_is_read_in_any_chunks(rows, size):
    import csv
    import io

    page = io.StringIO(newline="")
    writer = csv.writer(page, quoting=csv.QUOTE_ALL)
    writer.writerow(["original_url", "title"])
    writer.writerows((f"x{url}", title) for url, title in rows)
    found = [record for _, record in read(page.getvalue().encode(), TransferFormat.CSV, size)]
    assert [x["original_url"] for x in found] == [f"x{url}" for url, _ in rows]  # type: ignore[index]


@given(st.binary(max_size=300), st.integers(1, 50), st.sampled_from(TransferFormat))
def test_no_bytes_are_an_error_but_a_refusal(data, size, kind):
    try:
        found = read(b"url,title\n" + data, kind, size)
    except FileRefused:
        assert kind is TransferFormat.CSV
    else:
        assert found == read(b"url,title\n" + data, kind)
