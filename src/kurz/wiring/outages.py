"""Why the database cannot be used, for the operator: with its file, or its host and port."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from kurz.errors import StoreUnavailable
from kurz.settings.model import Settings
from kurz.wiring.engine import Engine


@contextmanager
def explained(settings: Settings) -> Iterator[None]:
    """A `StoreUnavailable` from inside says why, if that can be found out. Not for a process that
    serves visitors: it tries to connect once more. To be used outside an event loop."""
    try:
        yield
    except StoreUnavailable as error:
        raise asyncio.run(Engine(settings).explain(error)) from error
