"""`/api/v1/auth`: register, sign in and out, passwords."""

from typing import TypeVar

from fastapi import APIRouter, Request
from starlette.responses import Response

from kurz import asgi
from kurz.api.http.bodies import described, read_body
from kurz.api.http.callers import Session, cookie_name
from kurz.api.http.dependencies import context
from kurz.api.http.devices import asker_of, check_credentials, device_cookie, signed_in_asker
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.security import nobody
from kurz.api.schemas.people import (
    AccountRead,
    Credentials,
    PasswordChange,
    Registration,
    Reset,
    SessionRead,
    SessionStart,
    Setup,
)
from kurz.api.schemas.problems import problems
from kurz.people.accounts import Account
from kurz.people.errors import RequestForged
from kurz.people.limits import LimitClass
from kurz.people.quotas import UNLIMITED
from kurz.people.tokens import LIFE

AnyEntry = TypeVar("AnyEntry", bound=SessionStart)

router = APIRouter(
    prefix="/api/v1/auth", tags=["auth"], responses=problems(400, 413, 415, 422, 429, 503)
)


@router.post(
    "/register",
    status_code=201,
    response_model=SessionRead,
    summary="Create an account",
    responses=problems(403, 409),
    openapi_extra=described(Registration) | nobody(),
)
async def register(request: Request) -> Response:
    """Creates an account and signs in. If registration is closed, this needs an invitation.
    Registering never makes anyone an administrator."""
    kurz = context(request)
    body = await _read_entry(request, Registration)
    await kurz.limit_by_address(request, LimitClass.REGISTER)
    account = await kurz.services.accounts.register(
        body.email, body.password, body.invitation, asker_of(request)
    )
    return _begin(request, account, 201, as_cookie=body.as_cookie)


@router.post(
    "/sign-in",
    response_model=SessionRead,
    summary="Sign in",
    responses=problems(401, 403),
    openapi_extra=described(Credentials) | nobody(),
)
async def sign_in(request: Request) -> Response:
    """Returns a token that is valid for 24 hours. If the password is lost, an administrator can
    create a reset link."""
    body = await _read_entry(request, Credentials)
    account = await check_credentials(request, body.email, body.password)
    return _begin(request, account, 200, as_cookie=body.as_cookie)


@router.post(
    "/sign-out",
    status_code=204,
    summary="Sign out",
    responses=problems(401, 403),
)
async def sign_out(request: Request, caller: Session) -> Response:
    """Ends this token within 5 seconds."""
    kurz = context(request)
    await kurz.services.accounts.sign_out(caller.token_id or "", caller.expires_at or 0)
    kurz.sessions.identity.forget()
    return Response(status_code=204, headers={"set-cookie": _cookie(request, "", 0)})


@router.post(
    "/password",
    response_model=SessionRead,
    summary="Change your password",
    responses=problems(401, 403),
    openapi_extra=described(PasswordChange),
)
async def change_password(request: Request, caller: Session) -> Response:
    """Ends all your tokens and returns a new one."""
    kurz = context(request)
    body = await read_body(request, PasswordChange)
    asker = await signed_in_asker(request, caller.account_id)
    account = await kurz.services.accounts.change_password(
        caller.account_id,
        body.old_password,
        body.new_password,
        asker,
        revoke_keys=body.revoke_keys,
    )
    kurz.sessions.identity.forget()
    is_page = "authorization" not in request.headers
    return _begin(request, account, 200, as_cookie=is_page)


@router.post(
    "/reset",
    response_model=SessionRead,
    summary="Set a new password with a one-time link",
    responses=problems(403),
    openapi_extra=described(Reset) | nobody(),
)
async def reset_password(request: Request) -> Response:
    """Ends all tokens of the account. Also revokes its keys, open invitations and one-time links,
    unless `revoke_keys` is false. Keys for a single workspace stay valid. Returns a new token."""
    kurz = context(request)
    body = await _read_entry(request, Reset)
    await kurz.limit_by_address(request, LimitClass.REDEEM)
    account = await kurz.services.accounts.reset_password(
        body.token,
        body.password,
        asker_of(request, is_known=True),
        revoke_keys=body.revoke_keys,
    )
    kurz.sessions.identity.forget()
    return _begin(request, account, 200, as_cookie=body.as_cookie)


@router.post(
    "/setup",
    status_code=201,
    response_model=SessionRead,
    summary="Create the first administrator",
    responses=problems(403, 409),
    openapi_extra=described(Setup) | nobody(),
)
async def set_up(request: Request) -> Response:
    """Uses the token of the set-up link that the server printed when it started, or that
    `kurz admin setup-link` printed."""
    kurz = context(request)
    body = await _read_entry(request, Setup)
    await kurz.limit_by_address(request, LimitClass.REDEEM)
    account = await kurz.services.accounts.set_up(
        body.token, body.email, body.password, asker_of(request, is_known=True)
    )
    return _begin(request, account, 201, as_cookie=body.as_cookie)


async def _read_entry(request: Request, schema: type[AnyEntry]) -> AnyEntry:
    """Refused before a token or a limit is spent: pages have sessions only on hosts with pages."""
    body = await read_body(request, schema)
    if body.as_cookie and not request.scope[asgi.SITE].has_pages:
        raise RequestForged("Sign in at the dashboard's own address.")
    return body


def account_read(account: Account) -> AccountRead:
    fields = {name: getattr(account, name) for name in AccountRead.model_fields}
    if account.links_per_month == UNLIMITED:
        fields["links_per_month"] = "unlimited"
    return AccountRead(**fields)


def _begin(request: Request, account: Account, status: int, *, as_cookie: bool) -> Response:
    """A session. If it is a page's, its token is in a cookie that no script can read. Another
    cookie marks the browser as known, so that it can sign in again during a flood of sign-ins."""
    token, expires_at = context(request).sessions.tokens.issue(account.id, account.epoch)
    shown_token = None if as_cookie else token
    body = SessionRead(token=shown_token, expires_at=expires_at, account=account_read(account))
    answer = ApiAnswer(status, body.model_dump_json().encode())
    if not as_cookie:
        return answer.respond()
    cookie = _cookie(request, token, int(LIFE.total_seconds()))
    return answer.respond([cookie, device_cookie(request, account)])


def _cookie(request: Request, token: str, seconds: int) -> str:
    secure = "; Secure" if request.scope["scheme"] == "https" else ""
    name = cookie_name(request)
    return f"{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}"
