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

    def base_url_of(self, request: Request) -> str:
        """What short URLs start with in the answer to this request."""
        scope = request.scope
        return self.base_url or f"{scope['scheme']}://{scope['kurz.host']}"

    def own_hosts_of(self, request: Request) -> tuple[str, ...]:
        """The name this request came in by, where no base URL tells: a link to it is a loop."""
        if self.base_url is not None:
            return ()
        host: str = request.scope["kurz.host"]
        name, colon, port = host.rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host, "443" if request.scope["scheme"] == "https" else "80"
        return (f"{name.removesuffix('.')}:{port}",)

    def refuse_strangers(self) -> None:
        if self.is_private:
            raise SignInRequired("This kurz is private: making a link needs an account.")


def context(request: Request) -> Context:
    found: Context = request.scope["app"].state.context
    return found
