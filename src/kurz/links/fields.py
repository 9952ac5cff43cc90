"""What the fields of a link may hold, apart from its URL and code."""

import unicodedata

from kurz.links.errors import FieldRefused

REDIRECT_STATUSES = (301, 302, 307, 308)
MAX_CLICKS = 2**53  # what a JavaScript number holds exactly
MAX_TITLE_LENGTH = 200
MAX_NOTES_LENGTH = 2000
MAX_TAG_LENGTH = 50
MAX_TAGS = 20
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check(
    *,
    title: str | None = None,
    notes: str | None = None,
    tags: tuple[str, ...] = (),
    redirect_status: int | None = None,
    max_clicks: int | None = None,
) -> None:
    """Raises `FieldRefused` for the first value that cannot be kept."""
    if title is not None:
        _check_text("title", title, MAX_TITLE_LENGTH)
    if notes is not None:
        _check_text("notes", notes, MAX_NOTES_LENGTH, breaks="\n\t")
    if len(tags) > MAX_TAGS:
        raise FieldRefused(f"A link can have at most {MAX_TAGS} tags.", field="tags")
    for tag in tags:
        _check_text("tags", tag, MAX_TAG_LENGTH)
    if redirect_status is not None and redirect_status not in REDIRECT_STATUSES:
        raise FieldRefused(
            "`redirect_status` must be 301, 302, 307 or 308.", field="redirect_status"
        )
    if max_clicks is not None and not 1 <= max_clicks <= MAX_CLICKS:
        raise FieldRefused(
            f"`max_clicks` must be a whole number from 1 to {MAX_CLICKS}.", field="max_clicks"
        )


def check_search(text: str) -> None:
    _check_text("search", text, MAX_TITLE_LENGTH)


def _check_text(field: str, text: str, longest: int, breaks: str = "") -> None:
    """Text that both engines can store, and every page and terminal shows unchanged. `breaks` are
    the control characters that are allowed."""
    if not text.strip() or len(text) > longest:
        raise FieldRefused(f"`{field}` must have 1 to {longest} characters.", field=field)
    if any(_is_unfit(letter) and letter not in breaks for letter in text):
        raise FieldRefused(
            f"`{field}` contains a control character or is not valid text.", field=field
        )


def _is_unfit(letter: str) -> bool:
    """True for control characters, surrogates, and marks that change the text direction."""
    return unicodedata.category(letter) in ("Cc", "Cs") or letter in _DIRECTIONS
