"""Limits from the settings: rates and where they are counted, and caps."""

from kurz.people.caps import Caps
from kurz.people.keyring import Keyring
from kurz.people.limits import (
    WORTH_A_WRITE,
    FallbackLimits,
    Limits,
    MemoryLimits,
    NullLimits,
    PolicyLimits,
    hashing,
    limit_table,
)
from kurz.settings.model import Settings
from kurz.wiring.core import Kurz

DATABASE_DEADLINE_SECONDS = 0.5  # for a limit that is kept in the database


def caps_of(settings: Settings) -> Caps:
    return Caps(
        workspaces=settings.limit_workspaces,
        keys=settings.limit_keys,
        slugs=settings.limit_slugs,
        domains=settings.limit_domains,
        invitations=settings.limit_invitations,
    )


def open_limits(kurz: Kurz, keyring: Keyring) -> Limits:
    """In Redis, if there is one. Otherwise several workers, and on PostgreSQL perhaps several
    instances, share the limits of sign-ins, creates and bulk requests in the database; others are
    not worth a write. The rest is counted in memory."""
    settings = kurz.settings
    if settings.rate_limits == "off":
        return NullLimits()
    table = limit_table(settings.rates())
    local, redis = MemoryLimits(), kurz.shared.redis
    hashed = hashing(keyring.key("limits"))
    if redis is not None:
        from kurz.cache.limits import RedisLimits

        in_redis = RedisLimits(redis, hashed)
        return Limits(FallbackLimits(in_redis, local, processes=settings.workers), table)
    if kurz.engine.is_shared:
        from kurz.storage.people.limits import SqlLimits

        shared_store = SqlLimits(kurz.database, kurz.clock, hashed)
        shared = FallbackLimits(
            shared_store,
            local,
            deadline_seconds=DATABASE_DEADLINE_SECONDS,
            processes=settings.workers,
        )
        return Limits(PolicyLimits(shared, local, WORTH_A_WRITE), table)
    return Limits(local, table)
