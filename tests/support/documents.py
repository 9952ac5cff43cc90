"""The commands of a document, and what it says about those that are not run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?P<notes>(?:^<!-- (?:not run|one of): .*? -->\n+)*)"
    r"^```(?P<language>console|sh)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMENT = re.compile(r"\s#\s.*$")
_NOTE = re.compile(r"<!-- not run: (?:`(.+?)`: )?(.+?) -->")
_ALTERNATIVE = re.compile(r"<!-- one of: (.+?) -->")


@dataclass(frozen=True)
class Command:
    """As a reader would type it, the lines that the document shows for it, and why it is not run
    here, if so."""

    text: str
    output: list[str]
    line: int
    not_run: str | None


@dataclass(frozen=True)
class Block:
    """`is_script`: it shows no output. `alternative` names what the reader chooses, if other blocks
    do the same in another way. `before` is the text between the block before and this one."""

    commands: list[Command]
    is_script: bool
    alternative: str | None
    before: str


def commands_of(path: Path) -> list[Command]:
    return [command for block in blocks_of(path) for command in block.commands]


def blocks_of(path: Path) -> list[Block]:
    """Those that are shown as typed in a terminal (`console`), with what it answers, and those that
    are only commands (`sh`), one on each line."""
    page = path.read_text(encoding="utf-8")
    found = []
    end = 0
    for block in _BLOCK.finditer(page):
        line = page.count("\n", 0, block.start("text")) + 1
        text, is_script = block["text"], block["language"] == "sh"
        if is_script:
            text = "".join(_with_prompts(text))
        commands = list(_commands(text, block["notes"], line, path.name))
        chosen = _ALTERNATIVE.search(block["notes"])
        before = page[end : block.start()]
        found.append(Block(commands, is_script, chosen and chosen[1], before))
        end = block.end()
    return found


def _commands(text: str, notes: str, line: int, page: str) -> Iterator[Command]:
    """A note without a command is about all of them."""
    reasons = {start or "": why for start, why in _NOTE.findall(notes)}
    used: set[str] = set()
    for typed, output, offset in _split(text):
        start = next((it for it in reasons if typed.startswith(it)), None)
        used |= {it for it in reasons if typed.startswith(it)}
        reason = None if start is None else reasons[start]
        yield Command(typed, output, line + offset, reason)
    assert used == set(reasons), f"{page}:{line}: a note names no command of its block"


def _with_prompts(script: str) -> Iterator[str]:
    is_open = False
    for line in script.splitlines(keepends=True):
        is_command = not is_open and line.strip() and not line.startswith("#")
        yield f"$ {line}" if is_command else line
        is_open = line.endswith("\\\n")


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
