"""Rate limits that every instance shares, in Redis or Valkey."""

from hashlib import sha1
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError

from kurz.people.limits import SKEW_MICROS, LimitsUnavailable, Rate, Verdict, hashed, verdict

PREFIX = "kurz:limit:"
TIMEOUT_SECONDS = 0.05  # of one step; `FallbackLimits` bounds them all together
CONNECTIONS = 4  # 50 hits at once take 10 ms, with more connections too

# By the server's clock, so that those of the instances do not matter. Numbers are doubles, exact up
# to 2^53; "%.0f" because tostring() keeps 14 digits of them, and an instant has 16.
SCRIPT = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local capacity, step, skew = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local before = tonumber(redis.call('GET', KEYS[1]) or 0) - now
if before < 0 or before > capacity + skew then before = 0 end
local after = before + step
if after > capacity then return {0, before} end
local due_at = string.format('%.0f', now + after)
redis.call('SET', KEYS[1], due_at, 'PX', math.ceil(after / 1000))
return {1, after}
"""
DIGEST = sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()


class RedisLimits:
    """The `LimitStore` in Redis: one round trip a hit, and no key outlives its meaning."""

    def __init__(self, url: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=timeout_seconds,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            protocol=2,  # this and the next spare a new connection three round trips
            driver_info=None,
            # Once, for a connection that has died while it was idle; a slow answer is no reason.
            retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
        )
        self._redis = Redis.from_pool(pool)

    async def hit(self, key: str, rate: Rate, cost: int = 1) -> Verdict:
        step = cost * rate.interval_micros
        try:
            is_allowed, backlog = await self._run(
                PREFIX + hashed(key), rate.capacity_micros, step, SKEW_MICROS
            )
        except (RedisError, OSError) as error:
            raise LimitsUnavailable from error
        return verdict(rate, is_allowed=bool(is_allowed), backlog_micros=backlog, cost=cost)

    async def close(self) -> None:
        await self._redis.aclose()

    async def _run(self, key: str, *arguments: int) -> Any:
        """By the script's digest; a server that is new or was restarted has to be told it."""
        try:
            return await self._redis.evalsha(DIGEST, 1, key, *arguments)
        except NoScriptError:
            return await self._redis.eval(SCRIPT, 1, key, *arguments)
