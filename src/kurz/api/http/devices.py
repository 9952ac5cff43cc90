"""Signing in, and the cookie of a browser that has signed in before."""

from fastapi import Request

from kurz import asgi
from kurz.api.http.callers import cookies_of
from kurz.api.http.dependencies import context, services
from kurz.people.accounts import Account, normalise_email
from kurz.people.devices import LIFE
from kurz.people.errors import EmailRefused
from kurz.people.hash_queue import Asker
from kurz.people.limits import LimitClass, TooManyRequests, site_of_address

SECURE_COOKIE = "__Secure-kurz-device"
PLAIN_COOKIE = "kurz-device"
PATH = "/api"  # browsers do not send it when they follow a short link
MAX_COOKIES = 4  # of this name: a neighbouring host may have added some


async def check_credentials(request: Request, email: str, password: str) -> Account:
    """Signs in. A browser that is known to the account has its own limit, and its address another
    one. Others are limited by account and by address, whether or not there is such an account."""
    spelled = _spelled_once(email)
    is_known = await _is_known(request, spelled)
    if is_known:
        await context(request).limit_by_address(request, LimitClass.SIGN_IN_KNOWN)
    else:
        await _limit_stranger(request, spelled)
    asker = asker_of(request, is_known=is_known)
    return await services(request).accounts.sign_in(email, password, asker)


def asker_of(request: Request, *, is_known: bool = False) -> Asker:
    """`is_known`: also the holder of a one-time link, which is checked before anything is hashed.
    Turns are by site: otherwise one customer with IPv6 could have 65,536 of them."""
    return Asker(_site_of(request), is_known=is_known)


async def signed_in_asker(request: Request, account_id: int) -> Asker:
    """A signed-in person who confirms their password. Limited by account, and by address together
    with known browsers, because anyone can register many accounts."""
    kurz = context(request)
    await kurz.limits.check(LimitClass.REAUTHENTICATE, str(account_id))
    await kurz.limit_by_address(request, LimitClass.SIGN_IN_KNOWN)
    return asker_of(request, is_known=True)


def device_cookie(request: Request, account: Account) -> str:
    """Only for answers on a host that has pages."""
    value = context(request).sessions.devices.issue(account.id, account.epoch, account.email)
    secure = "; Secure" if request.scope["scheme"] == "https" else ""
    seconds = int(LIFE.total_seconds())
    return (
        f"{_name(request)}={value}; Path={PATH}; HttpOnly; SameSite=Strict"
        f"; Max-Age={seconds}{secure}"
    )


async def _is_known(request: Request, email: str) -> bool:
    """The signature is checked before anything is counted or looked up, so strangers and cookies of
    other accounts cannot use up the limit."""
    kurz = context(request)
    for cookie in cookies_of(request, _name(request))[:MAX_COOKIES]:
        device = kurz.sessions.devices.read(cookie, email)
        if device is not None:
            await kurz.limits.check(LimitClass.SIGN_IN_DEVICE, device.id)
            return await kurz.services.accounts.knows(device)
    return False


async def _limit_stranger(request: Request, email: str) -> None:
    kurz = context(request)
    await kurz.limit_by_address(request, LimitClass.SIGN_IN_ADDRESS)
    try:
        await kurz.limits.check(LimitClass.SIGN_IN_ACCOUNT, email)
    except TooManyRequests as refused:
        try:
            await kurz.limits.check(LimitClass.SIGN_IN_NEWCOMER, f"{email} {_site_of(request)}")
            await kurz.limits.check(LimitClass.SIGN_IN_NEWCOMER_TOTAL, email)
        except TooManyRequests:
            raise refused from None  # it has the shorter wait


def _site_of(request: Request) -> str:
    return site_of_address(asgi.client_of(request.scope))


def _spelled_once(email: str) -> str:
    """Otherwise each spelling of an address would have its own limit."""
    try:
        return normalise_email(email)
    except EmailRefused:
        return email.strip().lower()


def _name(request: Request) -> str:
    return SECURE_COOKIE if request.scope["scheme"] == "https" else PLAIN_COOKIE
