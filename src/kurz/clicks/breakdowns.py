"""Where clicks came from: the largest values of each kind, and the sum of the others."""

from collections.abc import Mapping
from heapq import nsmallest
from typing import Final, NamedTuple

from kurz.clicks.counts import OTHER, Of

LINKS: Final = "links"
# All except kinds and bots count people only.
NAMES: Final = {
    "countries": Of.COUNTRY,
    "referrers": Of.REFERRER,
    "browsers": Of.BROWSER,
    "systems": Of.SYSTEM,
    "devices": Of.DEVICE,
    "languages": Of.LANGUAGE,
    "kinds": Of.SORT,
    "bots": Of.BOT,
    LINKS: Of.LINK,
}


class Value(NamedTuple):
    value: str
    clicks: int


class Breakdown(NamedTuple):
    """`other` counts the values that are not named, `unknown` those without a value."""

    values: list[Value]
    other: int
    unknown: int

    @property
    def clicks(self) -> int:
        return sum(item.clicks for item in self.values) + self.other + self.unknown


def break_down(counts: Mapping[str, int], top: int, bots: int) -> dict[str, Breakdown]:
    """For each of `NAMES`. `bots` is their total number: not all of them have a name."""
    by_letter: dict[str, dict[str, int]] = {letter: {} for letter in Of}
    for key, count in counts.items():
        by_letter[key[0]][key[1:]] = count
    found = {name: _largest(by_letter[letter], top) for name, letter in NAMES.items()}
    named = found["bots"]
    found["bots"] = named._replace(unknown=bots - (named.clicks - named.unknown))
    return found


def _largest(counts: dict[str, int], top: int) -> Breakdown:
    unknown, rest = counts.pop("", 0), counts.pop(OTHER, 0)
    values = nsmallest(top, counts.items(), key=lambda item: (-item[1], item[0]))
    named = sum(count for _, count in values)
    return Breakdown(
        [Value(*item) for item in values], rest + sum(counts.values()) - named, unknown
    )
