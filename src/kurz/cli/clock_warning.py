"""A clock that is behind what was written by it."""

from datetime import datetime, timedelta

from kurz.clock import from_micros

# A server whose clock was set back by less keeps its own time, and is ahead by that much.
TOLERATED = timedelta(minutes=1)


def clock_warning(now: datetime, last_micros: int | None) -> str | None:
    """None: it is not behind. `last_micros` is when something was last written."""
    if last_micros is None or from_micros(last_micros) - now <= TOLERATED:
        return None
    return (
        f"the clock says {now:%Y-%m-%d %H:%M} UTC, but the database has an entry from"
        f" {from_micros(last_micros):%Y-%m-%d %H:%M} UTC. Set the clock: until it is right, links"
        " expire late and jobs do not run."
    )
