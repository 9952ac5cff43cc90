"""The format of exports, imports and archives (`docs/reference/transfer-format.md`): its fields,
the names other programs use for them, and how text is written in a cell."""

import re
from collections.abc import Iterable

from kurz.links.transfers import TransferFormat
from kurz.transfer.errors import FileRefused

FIELDS = (
    "short_code",
    "original_url",
    "title",
    "tags",
    "notes",
    "status",
    "link_type",
    "strategy",
    "redirect_status",
    "forward_query",
    "max_clicks",
    "clicks_used",
    "created_at",
    "updated_at",
    "starts_at",
    "expires_at",
    "deleted_at",
    "swept_at",
    "redirect_count",
    "avg_redirect_ms",
    "workspace",
)
KNOWN = frozenset(FIELDS)
# Names in people's files, without case, spaces and punctuation.
ALIASES = {
    "url": "original_url",
    "longurl": "original_url",
    "target": "original_url",
    "code": "short_code",
    "slug": "short_code",
    "keyword": "short_code",
    "alias": "short_code",
    "clicks": "redirect_count",
    "visits": "redirect_count",
    "created": "created_at",
    "datecreated": "created_at",
    "date": "created_at",
}
_NAMES = {name.replace("_", ""): name for name in FIELDS} | ALIASES
_TAG_PIECE = re.compile(r"\\[\\|]|\||[^\\|]+|\\")
_LONGEST_NAME = 40  # of an unknown column, in a message
_MOST_NAMES = 10


_SUFFIXES = {
    ".csv": TransferFormat.CSV,
    ".jsonl": TransferFormat.JSONL,
    ".ndjson": TransferFormat.JSONL,
}


def format_of(name: str) -> TransferFormat | None:
    """By the end of a file's name."""
    return next((found for end, found in _SUFFIXES.items() if name.lower().endswith(end)), None)


def fields_of(given: Iterable[str]) -> list[str]:
    """The field behind each name, or `FileRefused` for an unknown one or two of the same."""
    found: dict[str, str] = {}
    unknown = []
    for name in given:
        field = _NAMES.get(re.sub(r"[\s_-]", "", name.lower()))
        if field is None:
            unknown.append(shown(name, _LONGEST_NAME))
            if len(unknown) == _MOST_NAMES:  # a row may have thousands
                break
        elif field in found:
            both = f"“{shown(found[field])}” and “{shown(name)}”"
            raise FileRefused(
                f"{both} are the same field: {field}. Remove one of them.",
                field=field,
                reason="doubled-column",
            )
        else:
            found[field] = name
    if unknown:
        names = ", ".join(f"“{name}”" for name in unknown)
        raise FileRefused(
            f"Unknown fields: {names}. The fields are {', '.join(FIELDS)}.",
            reason="unknown-columns",
            names=unknown,
        )
    return list(found)


def shown(text: str, longest: int = 200) -> str:
    """Text from a file, made safe for messages, terminals and files."""
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(letter if letter.isprintable() else "?" for letter in cut)


def join_tags(tags: Iterable[str]) -> str:
    return "|".join(tag.replace("\\", "\\\\").replace("|", "\\|") for tag in tags)


def split_tags(cell: str) -> tuple[str, ...]:
    if "\\" not in cell:
        return tuple(cell.split("|"))
    tags = [""]
    for piece in _TAG_PIECE.findall(cell):
        if piece == "|":
            tags.append("")
        else:
            tags[-1] += piece[1] if piece in ("\\\\", "\\|") else piece
    return tuple(tags)
