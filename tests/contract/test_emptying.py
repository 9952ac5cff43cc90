"""A trash with very many links is emptied in batches, as far as the time suffices."""

from datetime import timedelta

from kurz.links.ending.trash import Emptied, Trash
from kurz.links.model import Draft, Scope
from kurz.storage.ending.purging import SqlTrashStore
from support.engines import without_redis

engine = without_redis  # the trash is in a database


async def test_emptying_goes_on_in_batches_until_the_time_is_over(kurz, clock):
    for number in range(5):
        made = await kurz.links.create(Draft(original_url=f"https://example.com/{number}"))
        await kurz.links.delete(kurz.links.public_id(made.link), Scope())
    store = SqlTrashStore(kurz.database, timedelta(days=365))
    trash = Trash(kurz.links, store, clock, batch=2)
    assert await trash.empty(Scope(), seconds=0) == Emptied(2, is_empty=False)
    assert await trash.empty(Scope()) == Emptied(3, is_empty=True)
    assert await trash.empty(Scope()) == Emptied(0, is_empty=True)
