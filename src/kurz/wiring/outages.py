"""Why the database cannot be used, for the operator: with its file, or its host and port."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from kurz.errors import StoreBusy, StoreUnavailable
from kurz.settings.model import Settings


@contextmanager
def explained(settings: Settings) -> Iterator[None]:
    """A `StoreUnavailable` from inside says why, if that can be found out. Not for a process that
    serves visitors: it tries to connect once more."""
    try:
        yield
    except StoreUnavailable as error:
        raise explain(settings, error) from error


def explain(settings: Settings, error: StoreUnavailable) -> StoreUnavailable:
    """The error with its reason; to be called outside an event loop."""
    if isinstance(error, StoreBusy):
        return error
    if settings.database_url is None:
        return StoreUnavailable(f"{settings.database_path.absolute()}: {error.detail}")
    from kurz.storage.engine.diagnosis import why_unusable

    reason = asyncio.run(why_unusable(settings.database_url))
    return error if reason is None else StoreUnavailable(reason)
