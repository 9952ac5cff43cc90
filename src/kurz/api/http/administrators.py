"""Who acts as an administrator, and the audit log that is told before."""

from fastapi import Request

from kurz.api.callers import get_admin
from kurz.api.dependencies import context
from kurz.people.access import Caller
from kurz.safety.audit import Actor, Via


def actor_of(caller: Caller) -> Actor:
    return Actor(caller.account_id, Via.API)


async def get_actor(request: Request) -> Actor:
    """For services that tell the audit log themselves."""
    return actor_of(await get_admin(request))


async def note(
    request: Request, caller: Caller, act: str, subject: str | None = None, **details: object
) -> None:
    """To be called when nothing but the act itself can fail any more."""
    await context(request).audit.record(actor_of(caller), act, subject, details)
