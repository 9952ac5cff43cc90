"""`/api/v1/admin`: bans of links, hosts and people, and the audit log."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from kurz.api.http.administrators import ADMINS, ActingAdmin
from kurz.api.http.bodies import described, read_body
from kurz.api.http.cursors import read_cursor, write_cursor
from kurz.api.http.dependencies import Context, context, services
from kurz.api.http.pages import MAX_LIMIT, PageRequest, page_by
from kurz.api.routes.links import LinkId
from kurz.api.routes.members import AccountId
from kurz.api.schemas.problems import problems
from kurz.api.schemas.safety import (
    Audit,
    BanList,
    BanRead,
    BanReason,
    LinkBanRead,
)
from kurz.links.errors import CursorRefused, LinkNotFound
from kurz.links.model import Scope
from kurz.paging import Key, Part
from kurz.safety.audit import Via
from kurz.safety.banning import Bans
from kurz.safety.bans import Ban, BanKind, LinkBan

router = APIRouter(prefix="/api/v1/admin", tags=["admin"], responses=problems(401, 403, 503))

Host = Annotated[str, Path(max_length=253)]
PUT = described(BanReason, is_required=False)
BODY = problems(400, 404, 413, 415, 422)
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]
_LINK = "link"
_KINDS = (str(BanKind.HOST), str(BanKind.ACCOUNT), _LINK)  # in the order of the list


@router.put(
    "/links/{link_id}/ban",
    summary="Ban a link",
    responses=BODY,
    openapi_extra=PUT,
)
async def ban_link(request: Request, actor: ActingAdmin, link_id: LinkId) -> LinkBanRead:
    """The link answers 410 everywhere within 5 seconds. Its owner can no longer change it."""
    kurz = context(request)
    reason = await _read_reason(request)
    link = await kurz.services.links.get(link_id, Scope())
    await kurz.services.bans.ban_link(link, reason, actor)
    ban = await kurz.services.bans.find_of_link(link.id)
    if ban is None:
        raise LinkNotFound("This link was unbanned at the same time. Ban it again if needed.")
    return _link_ban_read(kurz, ban)


@router.delete(
    "/links/{link_id}/ban",
    status_code=204,
    summary="Unban a link",
    responses=problems(404, 422),
)
async def unban_link(request: Request, actor: ActingAdmin, link_id: LinkId) -> Response:
    """Restores the link's previous state. If a blocklist or a host ban still covers its
    destination, it stays banned: 422 `destination-refused`."""
    kurz = services(request)
    await kurz.bans.unban_link(await kurz.links.get(link_id, Scope()), actor)
    return Response(status_code=204)


@router.put(
    "/hosts/{host}/ban",
    summary="Ban a host",
    responses=problems(400, 413, 415, 422),
    openapi_extra=PUT,
)
async def ban_host(request: Request, actor: ActingAdmin, host: Host) -> BanRead:
    """Also covers all subdomains. New links to the host are refused everywhere within 5 seconds.
    Existing links are banned in the background."""
    reason = await _read_reason(request)
    return _ban_read(await services(request).bans.ban_host(host, reason, actor))


@router.delete(
    "/hosts/{host}/ban",
    status_code=204,
    summary="Unban a host",
    responses=problems(422),
)
async def unban_host(request: Request, actor: ActingAdmin, host: Host) -> Response:
    """Links that were banned because of the host are restored in the background."""
    await services(request).bans.unban_host(host, actor)
    return Response(status_code=204)


@router.put(
    "/accounts/{account_id}/ban",
    summary="Ban an account",
    responses=BODY | problems(409),
    openapi_extra=PUT,
)
async def ban_account(request: Request, actor: ActingAdmin, account_id: AccountId) -> BanRead:
    """Disables the account and bans all its links in the background. The last administrator cannot
    be banned: 409 `administrator-missing`."""
    kurz = context(request)
    reason = await _read_reason(request)
    ban = await kurz.services.bans.ban_account(account_id, reason, actor)
    kurz.sessions.identity.forget()
    return _ban_read(ban)


@router.delete(
    "/accounts/{account_id}/ban",
    status_code=204,
    summary="Unban an account",
    responses=problems(404, 422),
)
async def unban_account(request: Request, actor: ActingAdmin, account_id: AccountId) -> Response:
    """The user can sign in again. Their links are restored."""
    kurz = context(request)
    await kurz.services.bans.unban_account(account_id, actor)
    kurz.sessions.identity.forget()
    return Response(status_code=204)


@router.get(
    "/bans",
    summary="List bans",
    responses=problems(422),
    dependencies=ADMINS,
)
async def list_bans(request: Request, page: Annotated[PageRequest, page_by(str, str)]) -> BanList:
    """Hosts first, then accounts, then links, newest first. A page has `limit` items in total."""
    kurz = context(request)
    found, following = await page.fetch(partial(_list, kurz.services.bans), _end_of_page)
    answer = BanList(hosts=[], accounts=[], links=[], next_cursor=following)
    for ban in found:
        if isinstance(ban, LinkBan):
            answer.links.append(_link_ban_read(kurz, ban))
        else:
            of_kind = answer.hosts if ban.kind is BanKind.HOST else answer.accounts
            of_kind.append(_ban_read(ban))
    return answer


@router.get(
    "/audit",
    summary="List the audit log",
    responses=problems(422),
    dependencies=ADMINS,
)
async def list_audit(
    request: Request,
    before: Annotated[int | None, Query(ge=1, lt=2**53)] = None,
    limit: Limit = 50,
    action: Annotated[str | None, Query(max_length=50, pattern="^[a-z-]+$")] = None,
    account_id: Annotated[int | None, Query(ge=1, lt=2**53)] = None,
    via: Via | None = None,
) -> Audit:
    """Actions of administrators and the operator. Each entry is written before the action; entries
    are never removed."""
    found = await services(request).audit.list(
        before=before, limit=limit, action=action, account_id=account_id, via=via
    )
    next_before = found[-1].id if len(found) == limit else None
    page = {"entries": found, "next_before": next_before}
    return Audit.model_validate(page, from_attributes=True)


async def _list(bans: Bans, part: Part) -> list[Ban | LinkBan]:
    """Of all kinds, one after the other."""
    found: list[Ban | LinkBan] = []
    room = part.limit or MAX_LIMIT
    kind, name = (str(value) for value in part.after or (_KINDS[0], ""))
    if kind not in _KINDS:
        raise CursorRefused("This cursor belongs to another list. Start without a cursor.")
    for next_kind in _KINDS[_KINDS.index(kind) :]:
        after = name if next_kind == kind and part.after is not None else None
        left = room - len(found)
        if left <= 0:
            break
        if next_kind == _LINK:
            found += await bans.list_links(before=read_cursor(after), limit=left)
        else:
            key = None if after is None else (next_kind, after)
            found += await bans.list(BanKind(next_kind), Part(key, left))
    return found


def _end_of_page(ban: Ban | LinkBan) -> Key:
    """The end of a page."""
    if isinstance(ban, Ban):
        return str(ban.kind), ban.subject
    if ban.banned_at is None:
        raise ValueError("not a stored ban")
    return _LINK, write_cursor(ban.banned_at, ban.link_id)


async def _read_reason(request: Request) -> str | None:
    if not await request.body():
        return None
    return (await read_body(request, BanReason)).reason


def _ban_read(ban: Ban) -> BanRead:
    return BanRead.model_validate(ban, from_attributes=True)


def _link_ban_read(kurz: Context, ban: LinkBan) -> LinkBanRead:
    fields = {name: getattr(ban, name) for name in LinkBanRead.model_fields}
    return LinkBanRead(**fields | {"link_id": kurz.services.links.public_row_id(ban.link_id)})
