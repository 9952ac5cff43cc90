"""Cells are safe in a spreadsheet, and come back as they were."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.links.cells import disarm, rearm
from kurz.links.transfers import TransferFormat
from kurz.transfer.errors import FileRefused
from kurz.transfer.format import fields_of, format_of, join_tags, split_tags

# Letters that matter to spreadsheets come often.
texts = st.text(max_size=20) | st.text(st.sampled_from("'\"=+-@;＝＋ \t\r\nx"), max_size=12)


@pytest.mark.parametrize(
    "cell",
    [
        *("=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "=cmd|' /C calc'!A0"),
        *(" =1", "\u3000+1", "＝1", "＋1", "－1", "＠x", "'=1", "' =1"),
    ],
)
def test_no_cell_begins_like_a_formula(cell):
    assert disarm(cell) == f"'{cell}"
    assert rearm(f"'{cell}") == cell


@pytest.mark.parametrize(
    ("cell", "disarmed"),
    [
        ("x;=1+1;y", "x;'=1+1;y"),
        ('x; "=1+1', "x;' \"=1+1"),
        ("x\n=1+1\n-1", "x\n'=1+1\n'-1"),
        ("x;'=1", "x;''=1"),
        ("=1;=1", "'=1;'=1"),
    ],
)
def test_no_part_of_a_cell_does_where_semicolons_part_cells(cell, disarmed):
    assert disarm(cell) == disarmed
    assert rearm(disarmed) == cell


@pytest.mark.parametrize(
    "cell", ["'tis", "''", "a=b", "'", "", "https://example.com/?a=1&b=-1;c=2", "a; b; c", "x -1"]
)
def test_other_cells_stay_as_they_are(cell):
    assert disarm(cell) == rearm(cell) == cell


@given(texts)
def test_a_disarmed_cell_comes_back(cell):
    assert rearm(disarm(cell)) == cell
    assert disarm(cell).strip()[:1] not in tuple("=+-@＝＋－＠")
    assert disarm(cell)[:1] not in tuple("\t\r\n")


@given(
    st.lists(
        st.text(min_size=1, max_size=5) | st.sampled_from(["|", "\\", "\\|", "a\\"]), min_size=1
    )
)
def test_joined_tags_come_back(tags):
    assert split_tags(join_tags(tags)) == tuple(tags)


def test_a_backslash_of_another_program_is_itself():
    assert split_tags("a\\b|c") == ("a\\b", "c")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("links.csv", TransferFormat.CSV),
        ("LINKS.CSV", TransferFormat.CSV),
        ("a.jsonl", TransferFormat.JSONL),
        ("a.ndjson", TransferFormat.JSONL),
        ("a.txt", None),
        ("-", None),
    ],
)
def test_a_name_tells_the_format(name, expected):
    assert format_of(name) is expected


def test_no_more_unknown_names_are_looked_at_than_are_told():
    with pytest.raises(FileRefused, match=r"“x0”.*“x9”.* The fields are"):
        fields_of(f"x{number}" for number in count())
