"""Text in the cells of CSV files, which people open in spreadsheets."""

import re

# A spreadsheet runs a cell that begins with one of these, perhaps after spaces, which some programs
# drop. The full-width marks are used in East Asia and mean the same. Apostrophes before a mark
# count too, so that `rearm` is exact.
_MARKS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
_FORMULA = re.compile(rf"['\s]*[{_MARKS}\t\r\n]")
# In some locales a spreadsheet splits cells at semicolons and ignores our quotes: a cell may then
# begin inside one of ours.
_INNER_FORMULA = re.compile(rf"(?<=[;\t\r\n])(?=[' \"]*[{_MARKS}])")
_ESCAPED_INNER_FORMULA = re.compile(rf"(?<=[;\t\r\n])'(?=[' \"]*[{_MARKS}])")


def disarm(cell: str) -> str:
    """The cell in a form in which no spreadsheet runs it or a part of it."""
    cell = _INNER_FORMULA.sub("'", cell)
    return f"'{cell}" if _FORMULA.match(cell) else cell


def rearm(cell: str) -> str:
    """The cell as it was before `disarm`."""
    if cell.startswith("'") and _FORMULA.match(cell):
        cell = cell[1:]
    return _ESCAPED_INNER_FORMULA.sub("", cell)
