"""The texts that people read are plain English (see `tests/data/words_to_avoid.toml`)."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import kurz
from kurz.cli.app import app as command_line

ROOT = Path(kurz.__file__).parent.parent.parent
AVOIDED = tomllib.loads((ROOT / "tests" / "data" / "words_to_avoid.toml").read_text())
MAX_WORDS = 30  # of a sentence
# The changelog's old entries and the records of decisions tell what was, in the words of their day.
DOCUMENTS = [
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "web" / "README.md")
    if "adr" not in path.parts and path.name != "CHANGELOG.md"
]


def helps() -> Iterator[tuple[str, str]]:
    def walk(command: Any, name: str) -> Iterator[tuple[str, str]]:
        texts = [command.help, *(getattr(it, "help", None) for it in command.params)]
        texts += [option for it in command.params for option in it.opts]
        yield name, "\n".join(text for text in texts if text)
        for each, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{name} {each}")

    yield from walk(typer.main.get_command(command_line), "kurz")


def test_no_text_has_wording_to_avoid():
    documents = ((path.name, path.read_text()) for path in DOCUMENTS)
    found = [
        f"{where}: {phrase}"
        for where, text in (*helps(), *documents)
        for phrase in AVOIDED["phrases"]
        if phrase in " ".join(text.split())
    ]
    assert not found, "\n".join(found)


def sentences(markdown: str) -> Iterator[str]:
    """Without code, addresses and tables' lines; an item, a cell or a heading ends one too."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", markdown, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s?)|\s\|\s", text):
        for sentence in re.split(r"(?<=[.!?:;])[)\"”*]*\s+", " ".join(block.split())):
            if sentence:
                yield sentence


# A page whose long cells list modules.
_OF_MODULES = ROOT / "docs" / "explanation" / "architecture.md"


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path != _OF_MODULES], ids=lambda path: path.name
)
def test_sentences_of_the_documents_are_short(path):
    long = [
        f"{len(words)} words: {sentence}"
        for sentence in sentences(path.read_text())
        if len(words := re.findall(r"\w[\w'’-]*", sentence)) > MAX_WORDS
    ]
    assert not long, "\n".join(long)
