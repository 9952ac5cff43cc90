"""What the lane and the ASGI path share."""

from dataclasses import dataclass

from kurz.clock import Clock
from kurz.redirect.misses import Misses
from kurz.redirect.resolve import Resolver
from kurz.redirect.slugs import Slugs
from kurz.redirect.visits import Visits


@dataclass(frozen=True, slots=True)
class RedirectParts:
    """`contact` is whom to ask about links; `dashboard` is where people find their links."""

    resolver: Resolver
    slugs: Slugs
    visits: Visits
    misses: Misses
    clock: Clock
    contact: str | None = None
    dashboard: str | None = None
