"""What Alembic runs: the migrations on the connection that `kurz.storage.migrate` hands over."""

from alembic import context

from kurz.storage import click_schema, job_schema, safety_schema  # noqa: F401  tables too
from kurz.storage.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata)
context.run_migrations()
