"""Who sends a request: a session's token, a key, or nobody."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated

from fastapi import Depends, Request

from kurz.api.http.dependencies import context
from kurz.api.http.security import declares, needs, session, somebody
from kurz.asgi import Scope, origin_of, site_of
from kurz.errors import SignInRequired
from kurz.people.access import Caller, Permission
from kurz.people.errors import CredentialRefused, RequestForged
from kurz.people.identity import Identity
from kurz.people.limits import LimitClass

# A browser keeps the first one only for this host, over TLS.
SECURE_COOKIE = "__Host-kurz"
PLAIN_COOKIE = "kurz"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_CREDENTIALS = frozenset({b"authorization", b"x-api-key"})
_READ = _CREDENTIALS | {b"cookie"}
_CHARGED = "kurz.charged"


async def find_caller(request: Request) -> Caller | None:
    """None: there is no credential. An invalid credential is refused, never ignored."""
    return await identify(request, context(request).sessions.identity)


async def is_member(scope: Scope, identity: Identity) -> bool:
    """Whether a request outside the API comes from somebody with an account."""
    try:
        return await identify(Request(scope), identity) is not None
    except (CredentialRefused, RequestForged):
        return False


async def identify(request: Request, identity: Identity) -> Caller | None:
    """Like `find_caller`."""
    found = {name: value for name, value in request.scope["headers"] if name in _READ}
    if not found:
        return None
    sent = [name for name, _ in request.scope["headers"] if name in _CREDENTIALS]
    if len(sent) > 1:
        raise CredentialRefused("Send only one credential.")
    if b"authorization" in found:
        return await identity.identify(_bearer(found[b"authorization"]))
    if b"x-api-key" in found:
        return await identity.identify(_key(found[b"x-api-key"]))
    token = _cookie(request, found[b"cookie"]) if _has_sessions(request) else None
    if token is None:
        return None
    if request.method not in _SAFE_METHODS:
        _refuse_forged(request)
    return await identity.identify(token)


@declares(somebody())
async def get_caller(request: Request) -> Caller:
    """Every request that changes something is charged here, exactly once."""
    caller = await get_creator(request)
    if request.method not in _SAFE_METHODS and _CHARGED not in request.scope:
        request.scope[_CHARGED] = True
        await context(request).limits.check(LimitClass.WRITE, str(caller.account_id))
    return caller


async def get_creator(request: Request) -> Caller:
    """For creating a link: it has its own limit, and charging twice would cost time."""
    caller = await find_caller(request)
    if caller is None:
        raise SignInRequired("Send a token or an API key: `Authorization: Bearer …`.")
    return caller


@declares(session())
async def get_session(request: Request) -> Caller:
    """A signed-in person; keys are refused."""
    caller = await get_caller(request)
    caller.require_session()
    return caller


def permitted(permission: Permission) -> Callable[[Request], Awaitable[Caller]]:
    @declares(needs(permission))
    async def get_permitted(request: Request) -> Caller:
        caller = await get_caller(request)
        caller.require(permission)
        return caller

    return get_permitted


get_admin = permitted(Permission.ADMIN)

AnyCaller = Annotated[Caller, Depends(get_caller)]
Session = Annotated[Caller, Depends(get_session)]


def cookie_name(request: Request) -> str:
    return SECURE_COOKIE if request.scope["scheme"] == "https" else PLAIN_COOKIE


def _bearer(value: bytes) -> str:
    scheme, _, credential = value.decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or not credential.strip():
        raise CredentialRefused("Send the credential as `Authorization: Bearer …`.")
    return credential.strip()


def _key(value: bytes) -> str:
    text = value.decode("latin-1").strip()
    if not text.startswith("kurz_"):
        raise CredentialRefused("`X-Api-Key` must be an API key, which starts with `kurz_`.")
    return text


def _has_sessions(request: Request) -> bool:
    """Whether session cookies are used: only on hosts that have pages; a cookie elsewhere is not
    ours. Probes have no site, and answer everywhere."""
    site = site_of(request.scope)
    return site is None or site.has_pages


def cookies_of(request: Request, wanted: str) -> list[str]:
    """The values of all cookies of that name; none on hosts without pages."""
    if not _has_sessions(request):
        return []
    sent = [value for name, value in request.scope["headers"] if name == b"cookie"]
    return [value for header in sent for name, value in _pairs(header) if name == wanted]


def _cookie(request: Request, cookies: bytes) -> str | None:
    wanted = cookie_name(request)
    return next((value for name, value in _pairs(cookies) if name == wanted), None)


def _pairs(cookies: bytes) -> Iterator[tuple[str, str]]:
    for piece in cookies.decode("latin-1").split(";"):
        name, _, value = piece.strip().partition("=")
        yield name, value


def _refuse_forged(request: Request) -> None:
    """A browser also sends its cookies with requests that other sites cause; it says where they
    come from."""
    own = origin_of(request.scope)
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site")
    is_own = origin == own if site is None else site in ("same-origin", "none")
    if not is_own or origin not in (None, own):
        raise RequestForged(
            "This request came from another site. To call the API from a program, send a"
            " token or key instead of the cookie."
        )
