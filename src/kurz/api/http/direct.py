"""Calls the routes that create a link without FastAPI, which costs as much as the rest of a create:
it goes through six applications and matches the path with a regular expression.

The routes are declared to FastAPI, too. It describes them and answers unusual requests."""

from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from kurz.api.http.problems import MAX_BODY_BYTES, answer_to
from kurz.asgi import Receive, Scope, Send
from kurz.errors import KurzError

Handler = Callable[[Request], Awaitable[Response]]

_WORKSPACES = "/api/v1/workspaces/"


class DirectRoutes:
    """`handlers` answer POST requests, by path. `{workspace_id}` stands for one segment after
    `/api/v1/workspaces/`."""

    def __init__(self, api: FastAPI, handlers: Mapping[str, Handler]) -> None:
        self._api = api
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, parameters = _parse(scope["path"])
        handler = self._handlers.get(path) if scope["method"] == "POST" else None
        if handler is None or not _is_short(scope):
            await self._api(scope, receive, send)
            return
        scope["app"] = self._api
        scope["path_params"] = parameters
        try:
            response = await handler(Request(scope, receive))
        except Exception as error:
            response = answer_to(error)
            await response(scope, receive, send)
            if not isinstance(error, KurzError | HTTPException):
                raise  # a bug, which is logged
            return
        await response(scope, receive, send)


def _parse(path: str) -> tuple[str, dict[str, str]]:
    """The path as it is declared, and its parameters."""
    if not path.startswith(_WORKSPACES):
        return path, {}
    workspace_id, slash, rest = path[len(_WORKSPACES) :].partition("/")
    if not workspace_id:
        return path, {}
    return f"{_WORKSPACES}{{workspace_id}}{slash}{rest}", {"workspace_id": workspace_id}


def _is_short(scope: Scope) -> bool:
    """Whether the request announces a length that a route may read at once. (The server refuses
    lengths that are not numbers.)"""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) <= MAX_BODY_BYTES
    return False
