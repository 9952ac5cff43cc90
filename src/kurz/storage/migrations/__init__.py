"""The schema's history, for Alembic. `kurz.storage.migrate` runs it."""
