"""What routes need: the services, and what a request says about where it came in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import Request

from kurz.errors import SignInRequired
from kurz.links.model import Created, Draft
from kurz.links.service import LinkService
from kurz.links.view import short_url


@dataclass(frozen=True)
class Context:
    """What the API is built from. `base_url` None: short URLs use the request's host.
    `check_store` raises `StoreUnavailable` while the store does not answer."""

    links: LinkService
    check_store: Callable[[], Awaitable[None]]
    base_url: str | None
    is_private: bool

    async def create_for_stranger(self, request: Request, draft: Draft) -> tuple[Created, str]:
        """Makes a link for somebody without an account; the link and its short URL."""
        created = await self.links.create(draft, own_hosts=self._own_hosts_of(request))
        scope = request.scope
        base_url = self.base_url or f"{scope['scheme']}://{scope['kurz.host']}"
        return created, short_url(base_url, created.link.short_code)

    def refuse_strangers(self) -> None:
        if self.is_private:
            raise SignInRequired("This kurz is private: making a link needs an account.")

    def _own_hosts_of(self, request: Request) -> tuple[str, ...]:
        """The name this request came in by, where no base URL tells: a link to it is a loop."""
        if self.base_url is not None:
            return ()
        host: str = request.scope["kurz.host"]
        name, colon, port = host.rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host, "443" if request.scope["scheme"] == "https" else "80"
        return (f"{name.removesuffix('.')}:{port}",)


def context(request: Request) -> Context:
    found: Context = request.scope["app"].state.context
    return found
