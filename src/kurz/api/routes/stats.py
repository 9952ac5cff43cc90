"""Stats of a link, a tag, a workspace, the caller's links, and the installation."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from kurz.api.http.administrators import Admin
from kurz.api.http.callers import get_admin, get_caller
from kurz.api.http.dependencies import context, services
from kurz.api.http.downloads import Download
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.spaces import LinkSpace, RequireSpace, in_workspace, require_space, root_space
from kurz.api.routes.links import LinkId
from kurz.api.routes.tags import Tag
from kurz.api.schemas.problems import problems
from kurz.api.schemas.stats import StatsRead
from kurz.asgi import ENDS_WITH_CLIENT
from kurz.clicks.exports import (
    MEDIA_TYPES,
    StatsFormat,
    What,
    write_breakdowns,
    write_events,
    write_series,
)
from kurz.clicks.live import Now
from kurz.clicks.periods import MAX_LENGTH, Interval, Period, read_period
from kurz.clicks.stats import EVERYTHING, About, StatsReport, about_link, about_space
from kurz.clicks.view import view, view_now
from kurz.errors import KurzError
from kurz.links.model import ROOT_WORKSPACE_ID
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

LISTEN_SECONDS = 300  # a browser reconnects by itself
BEAT_SECONDS = 15.0  # a proxy closes what is silent for longer
# A caller's permissions are cached for 4 s, and nobody may get data 5 s after losing access.
ASK_AGAIN_SECONDS = 0.5
EXPORTED_VALUES = 1000

router = APIRouter(tags=["stats"], responses=problems(401, 403, 422, 503))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for. `space` None: everything."""

    about: About
    space: LinkSpace | None


Ask = Callable[..., Awaitable[Asked]]


@dataclass(frozen=True, slots=True)
class StatsSubject:
    """What has statistics: its path, the end of its operation IDs, and its name in summaries."""

    prefix: str
    suffix: str
    whose: str
    ask: Ask
    permission: Permission = Permission.STATS_READ


def _of_link(enter: RequireSpace) -> Ask:
    async def ask(
        request: Request, space: Annotated[LinkSpace, Depends(enter)], link_id: LinkId
    ) -> Asked:
        link = await services(request).links.get(link_id, space.scope)
        return Asked(about_link(link, space.list_id), space)

    return ask


def _of_tag(enter: RequireSpace) -> Ask:
    async def ask(request: Request, space: Annotated[LinkSpace, Depends(enter)], tag: Tag) -> Asked:
        return Asked(await services(request).stats.about_tag(space.list_id, tag), space)

    return ask


def _of_space(enter: RequireSpace) -> Ask:
    async def ask(space: Annotated[LinkSpace, Depends(enter)]) -> Asked:
        return Asked(about_space(space.list_id), space)

    return ask


async def _of_everything(_: Admin) -> Asked:
    return Asked(EVERYTHING, None)


async def _period(
    request: Request,
    from_: Annotated[
        str | None,
        Query(
            alias="from",
            max_length=MAX_LENGTH,
            description="A date or time; 30 days before `to` by default.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        Query(
            max_length=MAX_LENGTH,
            description="A date (included) or a time (excluded); now by default.",
        ),
    ] = None,
    zone: Annotated[
        str | None,
        Query(
            max_length=MAX_LENGTH, description="A time zone such as Europe/Berlin; UTC by default."
        ),
    ] = None,
) -> Period:
    return read_period(services(request).clock.now(), from_, to, zone)


InPeriod = Annotated[Period, Depends(_period)]


def _add_report(of: StatsSubject) -> None:
    @router.get(
        f"{of.prefix}/stats",
        summary=f"Get statistics of {of.whose}",
        operation_id=f"get_stats{of.suffix}",
        response_model=StatsRead,
        responses=problems(404),
    )
    async def get_stats(
        request: Request,
        asked: Annotated[Asked, Depends(of.ask)],
        period: InPeriod,
        interval: Interval | None = None,
        top: Annotated[
            int, Query(ge=1, le=100, description="Maximum number of values per breakdown.")
        ] = 10,
        compare: Annotated[  # noqa: FBT002
            bool, Query(description="Also return the previous period of the same length.")
        ] = False,
    ) -> Response:
        """Clicks in a period, over time and by source. Without `interval`, a suitable one is
        chosen. Hours are available for periods of up to 31 days."""
        report = await services(request).stats.get(
            asked.about, period, interval, top=top, compares=compare
        )
        prefixes = await _prefixes(request, asked.space, report)
        shown = view(
            report,
            services(request).links,
            lambda link: prefixes[link.workspace_id] + link.short_code,
        )
        return ApiAnswer(200, to_json(shown)).respond()


def _add_stream(of: StatsSubject) -> None:
    @router.get(
        f"{of.prefix}/stats/live",
        summary=f"Stream live statistics of {of.whose}",
        operation_id=f"listen_to_stats{of.suffix}",
        response_class=StreamingResponse,
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **problems(404, 429),
        },
    )
    async def listen(
        request: Request,
        asked: Annotated[Asked, Depends(of.ask)],
        seconds: Annotated[
            int, Query(ge=0, le=LISTEN_SECONDS, description="Seconds to stream; 0: a single event.")
        ] = LISTEN_SECONDS,
    ) -> Response:
        """Server-sent events: one immediately, and one whenever the numbers change, with today's
        numbers and the newest clicks."""
        kurz, caller = context(request), await get_caller(request)
        if seconds:  # if several processes serve, the stream takes a slot in the database
            await kurz.limits.check(LimitClass.WRITE, str(caller.account_id))
        received = await kurz.live.listen(
            asked.about, caller.account_id, seconds, ASK_AGAIN_SECONDS
        )
        ask_again = partial(_enter_again, request, asked.space, of.permission)
        request.scope[ENDS_WITH_CLIENT] = True
        return _LiveStream(received, _events(received, ask_again))


def _add_export(of: StatsSubject) -> None:
    @router.get(
        f"{of.prefix}/stats/export",
        summary=f"Download statistics of {of.whose}",
        operation_id=f"export_stats{of.suffix}",
        response_class=StreamingResponse,
        responses={
            200: {
                "content": {
                    "text/csv": {"schema": {"type": "string"}},
                    "application/json": {"schema": {"type": "array", "items": {}}},
                }
            },
            **problems(404),
        },
    )
    async def export_stats(
        request: Request,
        asked: Annotated[Asked, Depends(of.ask)],
        period: InPeriod,
        what: What = What.SERIES,
        format: StatsFormat = StatsFormat.CSV,  # noqa: A002  the word of the product
        interval: Interval | None = None,
    ) -> Response:
        """The series, the breakdowns, or each click, as far back as individual clicks are kept."""
        kurz = context(request)
        file_name, media_type = f"kurz-{what}.{format}", MEDIA_TYPES[format]
        if what is What.EVENTS:
            caller = await get_caller(request)
            return Download(
                write_events(kurz.services.stats, asked.about, period, format),
                kurz.downloads,
                caller.account_id,
                file_name=file_name,
                media_type=media_type,
            )
        report = await kurz.services.stats.get(asked.about, period, interval, top=EXPORTED_VALUES)
        write = write_series if what is What.SERIES else write_breakdowns
        headers = {"content-disposition": f'attachment; filename="{file_name}"'}
        return Response(write(report, format), media_type=media_type, headers=headers)


async def _enter_again(request: Request, space: LinkSpace | None, permission: Permission) -> None:
    """Raises if the caller no longer has access. It costs a query once in a few seconds, however
    often it is called."""
    if space is None:
        await get_admin(request)
        return
    workspace_id = None if space.workspace is None else space.workspace.id
    await require_space(request, await get_caller(request), permission, workspace_id)


class _LiveStream(StreamingResponse):
    def __init__(
        self, received: AsyncGenerator[Now | None, None], events: AsyncIterator[bytes]
    ) -> None:
        headers = {"x-accel-buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._received = received

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Releases the stream's slot, even if the client leaves before the answer begins."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._received.aclose()


async def _events(
    received: AsyncGenerator[Now | None, None], ask_again: Callable[[], Awaitable[None]]
) -> AsyncIterator[bytes]:
    """Ends when the listener no longer has access, or that cannot be checked: clients reconnect and
    get the reason."""
    spoke_at = time.monotonic()
    async for now in received:
        try:
            await ask_again()
        except KurzError:
            return
        if now is None and time.monotonic() - spoke_at < BEAT_SECONDS:
            continue
        yield b": \n\n" if now is None else b"data: " + to_json(view_now(now)) + b"\n\n"
        spoke_at = time.monotonic()


async def _prefixes(
    request: Request, space: LinkSpace | None, report: StatsReport
) -> dict[int, str]:
    """The part of a short URL before the code, by workspace, for the top links."""
    kurz = context(request)
    found = [] if report.top_links is None else [item.link for item in report.top_links.links]
    prefixes: dict[int, str] = {}
    for workspace_id in {link.workspace_id for link in found}:
        if space is not None:
            workspace = space.workspace
        elif workspace_id == ROOT_WORKSPACE_ID:
            workspace = None
        else:
            workspace = await kurz.services.workspaces.find(workspace_id)
        prefixes[workspace_id] = await kurz.prefix(request, workspace)
    return prefixes


_ROOT, _TEAM = root_space(Permission.STATS_READ), in_workspace(Permission.STATS_READ)
_WORKSPACE = "/api/v1/workspaces/{workspace_id}"
for _subject in (
    StatsSubject("/api/v1/links/{link_id}", "_of_link", "a link", _of_link(_ROOT)),
    StatsSubject(
        _WORKSPACE + "/links/{link_id}",
        "_of_link_in_workspace",
        "a workspace's link",
        _of_link(_TEAM),
    ),
    StatsSubject("/api/v1/tags/{tag:path}", "_of_tag", "a tag", _of_tag(_ROOT)),
    StatsSubject(
        _WORKSPACE + "/tags/{tag:path}", "_of_tag_in_workspace", "a workspace's tag", _of_tag(_TEAM)
    ),
    StatsSubject(_WORKSPACE, "_of_workspace", "a workspace", _of_space(_TEAM)),
    StatsSubject("/api/v1/me", "_of_me", "your links", _of_space(_ROOT)),
    StatsSubject(
        "/api/v1/admin", "_of_everything", "the installation", _of_everything, Permission.ADMIN
    ),
):
    _add_report(_subject)
    _add_stream(_subject)
    _add_export(_subject)
