"""Who acts as an administrator, and the audit log, which is written before the action."""

from typing import Annotated

from fastapi import Depends, Request

from kurz.api.http.callers import get_admin
from kurz.api.http.dependencies import services
from kurz.people.access import Caller
from kurz.safety.audit import Actor, Via


def actor_of(caller: Caller) -> Actor:
    return Actor(caller.account_id, Via.API)


async def _get_actor(caller: Annotated[Caller, Depends(get_admin)]) -> Actor:
    return actor_of(caller)


ADMINS = [Depends(get_admin)]
Admin = Annotated[Caller, Depends(get_admin)]
ActingAdmin = Annotated[Actor, Depends(_get_actor)]  # for services that write to the audit log


async def note(
    request: Request, caller: Caller, action: str, subject: str | None = None, **details: object
) -> None:
    """To be called when only the action itself can still fail."""
    await services(request).audit.record(actor_of(caller), action, subject, details)
