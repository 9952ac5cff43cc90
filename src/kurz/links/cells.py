"""Text in the cells of CSV files, which people open in spreadsheets."""

import re

# A spreadsheet runs a cell that begins so (T44), perhaps after spaces, which some drop. The wide
# marks are typed in East Asia, and mean the same there. Apostrophes before count too, so that
# taking one back is exact.
_MARKS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
_FORMULA = re.compile(rf"['\s]*[{_MARKS}\t\r\n]")
# Where lists are written with semicolons, a spreadsheet parts cells at them, and not where our
# quotes say: then a cell may begin inside of one of ours.
_INNER_FORMULA = re.compile(rf"(?<=[;\t\r\n])(?=[' \"]*[{_MARKS}])")
_ESCAPED_INNER_FORMULA = re.compile(rf"(?<=[;\t\r\n])'(?=[' \"]*[{_MARKS}])")


def disarm(cell: str) -> str:
    """The cell so that no spreadsheet runs it or a part of it."""
    cell = _INNER_FORMULA.sub("'", cell)
    return f"'{cell}" if _FORMULA.match(cell) else cell


def rearm(cell: str) -> str:
    """The cell as it was before `disarm`."""
    if cell.startswith("'") and _FORMULA.match(cell):
        cell = cell[1:]
    return _ESCAPED_INNER_FORMULA.sub("", cell)
