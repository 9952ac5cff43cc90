"""The history of the schema, for Alembic. `kurz.storage.engine.migrate` runs it.

`env`: what Alembic runs.
`online`: indexes that are built while kurz is running.
"""
