"""Where everything is kept: one schema and one set of queries, run by SQLite or PostgreSQL."""
