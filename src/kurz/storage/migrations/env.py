"""Run by Alembic: the migrations, on the connection that `kurz.storage.engine.migrate` passes."""

from alembic import context

from kurz.storage.schema import clicks, jobs, links, people, safety  # noqa: F401  the tables
from kurz.storage.schema.base import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata)
context.run_migrations()
