"""How a subject's day is stored: one flat table of counts. The first letter of a key is the kind,
the rest is the value; a letter alone means that the value is unknown."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

OTHER: Final = "*"  # as a value: those beyond the cap


class VisitKind(StrEnum):
    """What kind of visit a click is. All except people and private visitors are bots in reports."""

    PERSON = "person"
    PRIVATE = "private"  # asked not to be tracked: counted as a person, nothing else is recorded
    PREFETCH = "prefetch"  # a browser prefetched it, or fetched it for a preview
    PREVIEW = "preview"  # by a program that shows previews of links
    BOT = "bot"


PEOPLE: Final = frozenset({VisitKind.PERSON, VisitKind.PRIVATE})


class Of(StrEnum):
    """The letters. Hours are of UTC, 00 to 23. COUNTRY to LANGUAGE, and LINK, count people; private
    visitors count as unknown."""

    PEOPLE_AT_HOUR = "h"
    BOTS_AT_HOUR = "H"
    SORT = "s"
    COUNTRY = "c"
    REFERRER = "r"
    BROWSER = "b"
    SYSTEM = "o"
    DEVICE = "d"
    LANGUAGE = "l"
    BOT = "n"  # names of bots
    LINK = "L"  # ids of links, for subjects that have many


# If a subject's day has more than `SLACK` times as many values in total, each letter is cut to this
# many, the largest; the rest is `OTHER`. Checking every value each time would cost more than all
# other counting.
MAX_OF_LINK: Final = 100
MAX_OF_MANY: Final = 300
SLACK: Final = 3


def merge(counts: dict[str, int], more: Mapping[str, int], max_values: int) -> None:
    """Adds `more`. If there are then too many values, the smallest go into `OTHER`, so sums stay
    exact. Unknown values never do."""
    for key, number in more.items():
        counts[key] = counts.get(key, 0) + number
    if len(counts) > SLACK * max_values:
        _fold(counts, max_values)


def _fold(counts: dict[str, int], max_values: int) -> None:
    values: dict[str, list[str]] = {}
    for key in counts:
        if key[1:] not in ("", OTHER):
            values.setdefault(key[0], []).append(key)
    for letter, keys in values.items():
        if len(keys) <= max_values:
            continue
        # Among equal values, the earlier ones stay.
        keys.sort(key=counts.__getitem__, reverse=True)
        folded = sum(counts.pop(key) for key in keys[max_values:])
        counts[letter + OTHER] = counts.get(letter + OTHER, 0) + folded
