"""Nothing is missing in portable backups."""

from kurz.storage.portable.tables import CARRIED, NOT_CARRIED
from kurz.storage.schema.base import metadata


def test_every_table_is_in_portable_backups_or_named_as_left_out():
    """A new table belongs to one of both lists, and its reasons to the docstring there."""
    named = [*CARRIED, *NOT_CARRIED]
    assert len(named) == len({*named})
    assert {it.name for it in named} == metadata.tables.keys()
