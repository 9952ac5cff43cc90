"""Deadlines for tests that are about something else: a slow machine must not fail them."""

from typing import Any

from kurz.storage.patience import Deadlines

SECONDS = 15
PATIENT = Deadlines(look_up_seconds=SECONDS, write_seconds=SECONDS)
# The same, as settings.
PATIENCE: dict[str, Any] = {
    "database_look_up_milliseconds": SECONDS * 1000,
    "database_write_milliseconds": SECONDS * 1000,
}
