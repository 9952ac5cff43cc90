"""The engines of these tests."""

from support.engines import redis_in_the_long_run

# A person at the command line does not meet Redis.
engine = redis_in_the_long_run
