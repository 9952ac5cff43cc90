"""ASGI's types, and what `server/app` adds to the scope of a request."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from kurz.people.workspaces import Site

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

RAW_HOST = "kurz.raw_host"  # bytes, or None if it is missing or repeated
HOST = "kurz.host"  # the same as text, lower case; empty if there is none
CLIENT = "kurz.client"  # the client's address, also behind a trusted proxy
SITE = "kurz.site"
PROBLEM = "kurz.problem"  # a KurzError: why there is no site
BEGAN_NS = "kurz.began_ns"  # when its first bytes arrived, by `time.perf_counter_ns`
LOOKUP = "kurz.lookup"  # the lane's lookup of the code (a task), or None
ENDS_WITH_CLIENT = "kurz.ends_with_client"  # True: a client that leaves ends the work
HAS_CLIENT_LEFT = "kurz.has_client_left"  # True: it left before that was set
OVERLOADED = "kurz.is_overloaded"  # the request was refused for that


def host_of(scope: Scope) -> str:
    host: str = scope[HOST]
    return host


def client_of(scope: Scope) -> str:
    client: str = scope[CLIENT]
    return client


def site_of(scope: Scope) -> Site | None:
    """None: a probe, whose host may be anything, or there is a problem."""
    site: Site | None = scope.get(SITE)
    return site


def origin_of(scope: Scope) -> str:
    """The origin under which the request came in."""
    return f"{scope['scheme']}://{scope[HOST]}"
