"""The engines of these tests."""

from support.engines import redis_in_the_long_run

# Those that break Redis name their own.
engine = redis_in_the_long_run
