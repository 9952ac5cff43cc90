"""The commands of a document, and what it says about those that are not run."""

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?P<notes>(?:^<!-- not run: .*? -->\n+)*)^```console\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMENT = re.compile(r"\s#\s.*$")
_NOTE = re.compile(r"<!-- not run: `(.+?)`: (.+?) -->")


@dataclass(frozen=True)
class Command:
    """As a reader would type it, the lines that the document shows for it, and why it is not run
    here, if so."""

    text: str
    output: list[str]
    line: int
    not_run: str | None


def commands_of(path: Path) -> list[Command]:
    page = path.read_text(encoding="utf-8")
    found = []
    for block in _BLOCK.finditer(page):
        notes = dict(_NOTE.findall(block["notes"]))
        used: set[str] = set()
        line = page.count("\n", 0, block.start("text")) + 1
        for text, output, offset in _split(block["text"]):
            reason = next((why for start, why in notes.items() if text.startswith(start)), None)
            used.update(start for start in notes if text.startswith(start))
            found.append(Command(text, output, line + offset, reason))
        assert used == set(notes), f"{path.name}:{line}: a note names no command of its block"
    return found


def _split(block: str) -> list[tuple[str, list[str], int]]:
    found: list[tuple[str, list[str], int]] = []
    is_open = False  # the command goes on in the next line
    quotes = ""
    for number, line in enumerate(block.splitlines()):
        if line.startswith("$ ") and not is_open:
            found.append((line[2:], [], number))
            quotes = line
        elif is_open:
            text, output, at = found[-1]
            found[-1] = (f"{text}\n{line}", output, at)
            quotes += line
        else:
            found[-1][1].append(line)
            continue
        is_open = line.endswith("\\") or COMMENT.sub("", quotes).count("'") % 2 == 1
    return found
