"""Rate limits that every instance shares, in Redis or Valkey."""

from collections.abc import Callable

from kurz.cache.client import RedisClient, RedisUnavailable, Script
from kurz.people.limits import SKEW_MICROS, LimitsUnavailable, LimitVerdict, verdict
from kurz.rates import Rate

PREFIX = "kurz:limit:"

# By the server's clock, so the clocks of the instances do not matter. Numbers are doubles, exact up
# to 2^53; "%.0f" because tostring() keeps 14 digits of them, and an instant has 16.
SCRIPT = Script.of("""
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
""")


class RedisLimits:
    """The `LimitStore` in Redis: one round trip per hit, and keys expire when they no longer
    matter. `hashed` is made by `hashing`."""

    def __init__(self, client: RedisClient, hashed: Callable[[str], str]) -> None:
        self._client = client
        self._hashed = hashed

    async def hit(self, key: str, rate: Rate, cost: int = 1) -> LimitVerdict:
        name = PREFIX + self._hashed(key)
        step = cost * rate.interval_micros
        try:
            found = await self._client.run(
                SCRIPT, name.encode(), rate.capacity_micros, step, SKEW_MICROS
            )
            match found:
                case [int(is_allowed), int(backlog)]:
                    return verdict(
                        rate, is_allowed=bool(is_allowed), backlog_micros=backlog, cost=cost
                    )
            await self._client.disconnect()  # the answer belongs to another question
        except RedisUnavailable as error:
            raise LimitsUnavailable(*error.args) from error
        raise LimitsUnavailable("Redis answers are out of sync")
