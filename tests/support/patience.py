"""Deadlines for tests that are about something else: a slow machine must not fail them."""

from typing import Any

from kurz.storage.engine.deadlines import Deadlines

SECONDS = 60  # as long as can be set
PATIENT = Deadlines(lookup_seconds=SECONDS, write_seconds=SECONDS)
# The same, as settings.
PATIENCE: dict[str, Any] = {
    "database_lookup_milliseconds": SECONDS * 1000,
    "database_write_milliseconds": SECONDS * 1000,
}


def as_environment(deadlines: Deadlines) -> dict[str, str]:
    """For a program."""
    return {
        "KURZ_DATABASE_LOOKUP_MILLISECONDS": f"{deadlines.lookup_seconds * 1000:.0f}",
        "KURZ_DATABASE_WRITE_MILLISECONDS": f"{deadlines.write_seconds * 1000:.0f}",
    }
