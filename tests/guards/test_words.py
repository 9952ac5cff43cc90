"""The texts that people read are plain English (see `tests/data/words_to_avoid.toml`)."""

import ast
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
PHRASES = re.compile(
    rf"(?<!\w)(?:{'|'.join(map(re.escape, AVOIDED['phrases']))})(?!\w)", re.IGNORECASE
)
MAX_WORDS = 30  # of a sentence
STRINGS = sorted((ROOT / "web" / "src" / "strings").glob("*.ts"))
TEMPLATES = sorted((ROOT / "src" / "kurz" / "redirect" / "answers" / "templates").rglob("*.html"))
MODULES = sorted((ROOT / "src" / "kurz").rglob("*.py"))
# The records of decisions tell what was, in the words of their day.
DOCUMENTS = [
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "web" / "README.md")
    if "adr" not in path.parts
]


def helps() -> Iterator[tuple[str, str]]:
    def walk(command: Any, name: str) -> Iterator[tuple[str, str]]:
        texts = [command.help, *(getattr(it, "help", None) for it in command.params)]
        texts += [option for it in command.params for option in it.opts]
        yield name, "\n".join(text for text in texts if text)
        for each, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{name} {each}")

    yield from walk(typer.main.get_command(command_line), "kurz")


_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
_STRINGS = re.compile(rf"/\*.*?\*/|//[^\n]*|{_QUOTED}:|({_QUOTED}|`[^`]*`)", re.DOTALL)


def strings_of(typescript: str) -> list[str]:
    """The texts of a part of the dashboard, in every language, without comments and names."""
    return [text[1:-1] for text in _STRINGS.findall(typescript) if text]


def texts_of(template: str) -> list[str]:
    """The texts between the tags of a page, and those of its attributes."""
    html = re.sub(r"{{.*?}}", "…", template)
    html = re.sub(r"{%.*?%}", "\0", html)
    between = re.sub(r"</?(?:a|b|code|i|span)\b[^>]*>", "", html)
    attributes = re.findall(r'"([^"]*)"', html)
    pieces = re.split(r"<[^>]*>|\0", "\0".join([between, *attributes]))
    return [" ".join(piece.split()) for piece in pieces if piece.strip()]


def constants_of(module: str) -> list[str]:
    """The strings of a module, without docstrings."""
    tree = ast.parse(module)
    statements = {id(it.value) for it in ast.walk(tree) if isinstance(it, ast.Expr)}
    return [
        it.value
        for it in ast.walk(tree)
        if isinstance(it, ast.Constant) and isinstance(it.value, str) and id(it) not in statements
    ]


DASHBOARD = [(path.name, text) for path in STRINGS for text in strings_of(path.read_text())]
PAGES = [(path.name, text) for path in TEMPLATES for text in texts_of(path.read_text())]
PAGES += [
    (path.name, text)
    for path in MODULES
    if "redirect" in path.parts
    for text in constants_of(path.read_text())
]


def test_no_text_has_wording_to_avoid():
    documents = ((path.name, path.read_text()) for path in DOCUMENTS)
    server = ((path.name, text) for path in MODULES for text in constants_of(path.read_text()))
    found = [
        f"{where}: {phrase}"
        for where, text in (*helps(), *documents, *DASHBOARD, *PAGES, *server)
        for phrase in PHRASES.findall(" ".join(text.split()))
    ]
    assert not found, "\n".join(found)


def test_no_label_has_wording_to_avoid():
    found = [
        f"{where}: {text}" for where, text in (*DASHBOARD, *PAGES) if text in AVOIDED["labels"]
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('en: { made: "Created", "sort.by": "Sort by" }', ["Created", "Sort by"]),
        ("of: (n: string) => `${n} links`,", ["${n} links"]),
        ('one: n === 1 ? "1 link" : "links",', ["1 link", "links"]),
        ('// Not "this"\n/* nor "that" */ hint: "https://…",', ["https://…"]),
        (r'said: "a \"b\" c",', [r"a \"b\" c"]),
    ],
)
def test_it_reads_every_string_of_the_dashboard(text, found):
    assert strings_of(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<dt>Created</dt><dd>{{ it }}</dd>", ["Created", "…"]),
        ("<p>Ask\n <b>them</b> first.</p>", ["Ask them first."]),
        ("{% block title %}Not found{% endblock %}", ["Not found"]),
        ('<p data-text="{% block it %}Try again{% endblock %}">', ["Try again"]),
    ],
)
def test_it_reads_every_text_of_a_page(text, found):
    assert texts_of(text) == found


def test_it_reads_every_string_of_a_module_but_docstrings():
    source = '"""About it."""\nHINT = "one " "two"\nSPAN = f"in {it}"\n'
    assert constants_of(source) == ["one two", "in "]


def sentences(markdown: str) -> Iterator[str]:
    """Without code, addresses and tables' lines; an item, a cell or a heading ends one too. A colon
    or a semicolon does not: what follows has to be kept in mind together."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", markdown, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s?)|\s\|\s", text):
        for sentence in re.split(r"(?<=[.!?])[)\"”*]*\s+", " ".join(block.split())):
            if sentence:
                yield sentence


# The changelog's entries are lists of what changed, and older than this rule.
PROSE = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_sentences_of_the_documents_are_short(path):
    long = [
        f"{len(words)} words: {sentence}"
        for sentence in sentences(path.read_text())
        if len(words := re.findall(r"\w[\w'’-]*", sentence)) > MAX_WORDS
    ]
    assert not long, "\n".join(long)


def test_sentences_of_the_dashboard_and_the_pages_are_short():
    long = [
        f"{where}, {len(words)} words: {sentence}"
        for where, text in (*DASHBOARD, *PAGES)
        for sentence in sentences(text)
        if len(words := re.findall(r"\w[\w'’-]*", sentence)) > MAX_WORDS
    ]
    assert not long, "\n".join(long)


def test_no_text_of_the_dashboard_or_a_page_shouts():
    loud = [f"{where}: {text}" for where, text in (*DASHBOARD, *PAGES) if re.search(r"\w!", text)]
    assert not loud, "\n".join(loud)
