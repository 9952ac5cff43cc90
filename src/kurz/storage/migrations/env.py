"""Run by Alembic: the migrations, on the connection that `kurz.storage.engine.migrate` passes.

If others use the database meanwhile, each migration is a transaction. Otherwise all of them are
one, which the caller began.
"""

from typing import Any

import sqlalchemy as sa
from alembic import context

from kurz.storage.engine.schema_state import REVISIONS, raise_oldest
from kurz.storage.schema import clicks, jobs, links, people, safety  # noqa: F401  the tables
from kurz.storage.schema.base import metadata

connection: sa.Connection = context.config.attributes["connection"]


def note_oldest(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:  # noqa: ARG001
    """A migration says in `works_with` which schema's programs still work after it. If it does not
    say so, only those that know the migration do."""
    if not step.is_stamp:
        module = step.up_revision.module
        raise_oldest(connection, getattr(module, "works_with", module.revision))


context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=REVISIONS,
    transaction_per_migration=context.config.attributes.get("is_in_use", False),
    on_version_apply=note_oldest,
)
with context.begin_transaction():
    context.run_migrations()
