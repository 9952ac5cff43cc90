"""What routes need: the services, and what a request says about where it came in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import Request

from kurz.errors import SignInRequired
from kurz.links.service import LinkService


@dataclass(frozen=True)
class Context:
    """What the API is built from. `base_url` None: short URLs use the request's host.
    `check_store` raises `StoreUnavailable` while the store does not answer."""

    links: LinkService
    check_store: Callable[[], Awaitable[None]]
    base_url: str | None
    is_private: bool


def context(request: Request) -> Context:
    found: Context = request.app.state.context
    return found


def base_url(request: Request) -> str:
    """What short URLs start with."""
    host = request.headers.get("host", "")
    return context(request).base_url or f"{request.scope['scheme']}://{host}"


def own_hosts(request: Request) -> tuple[str, ...]:
    """The name this request came in by, where no base URL tells: a link to it would be a loop."""
    if context(request).base_url is not None:
        return ()
    host = request.headers.get("host", "").lower()
    has_port = host.rpartition("]")[2].count(":") == 1
    return (host if has_port else f"{host}:{443 if request.scope['scheme'] == 'https' else 80}",)


def refuse_strangers(request: Request) -> None:
    if context(request).is_private:
        raise SignInRequired("This kurz is private: making a link needs an account.")
