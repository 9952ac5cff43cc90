"""Deadlines for tests that are about something else: a slow machine must not fail them."""

from kurz.storage.patience import Deadlines

PATIENT = Deadlines(look_up_seconds=5.0, write_seconds=5.0)
