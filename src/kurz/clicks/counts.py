"""How a subject's day is kept: one flat table of counts. The first letter of a key says of what,
the rest is the value; nothing behind the letter means that it is not known."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

OTHER: Final = "*"  # as a value: those that there was no room for


class Sort(StrEnum):
    """What kind of visit a click is. All but people and the private are bots in reports."""

    PERSON = "person"
    PRIVATE = "private"  # asked not to be measured: counted as a person, and nothing else is known
    PREFETCH = "prefetch"  # a browser fetched it ahead, or for a preview
    PREVIEW = "preview"  # by a program that shows what is behind a link
    BOT = "bot"


PEOPLE: Final = frozenset({Sort.PERSON, Sort.PRIVATE})


class Of(StrEnum):
    """The letters. Hours are of UTC, 00 to 23. All from COUNTRY to LANGUAGE, and LINK, are of
    people; the private stand under "not known"."""

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


# When a subject's day has more than `SLACK` times as many values in all, each letter is cut down to
# so many, the largest; the rest is `OTHER`. Looking at every value each time would cost more than
# all else that is counted.
MAX_OF_LINK: Final = 100
MAX_OF_MANY: Final = 300
SLACK: Final = 3


def merge(counts: dict[str, int], more: Mapping[str, int], max_values: int) -> None:
    """Adds `more`. If there are too many values then, the smallest go into `OTHER`: sums stay
    exact. What is not known is never among them."""
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
        # Among equals those that came first stay.
        keys.sort(key=counts.__getitem__, reverse=True)
        folded = sum(counts.pop(key) for key in keys[max_values:])
        counts[letter + OTHER] = counts.get(letter + OTHER, 0) + folded
