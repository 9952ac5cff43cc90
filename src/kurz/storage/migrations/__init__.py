"""The history of the schema, for Alembic. `kurz.storage.engine.migrate` runs it.

`env`: what Alembic runs.
"""
