"""Contracts run on every implementation of a port."""

from support.engines import redis_in_the_long_run

# A store is in a database. What is kept in Redis has contracts of its own, which name their
# servers.
engine = redis_in_the_long_run
