"""Stats: of a link, a tag, a workspace, one's own links, and the installation."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse

from kurz.api.callers import get_admin, get_caller
from kurz.api.dependencies import context
from kurz.api.downloads import Download
from kurz.api.links import LinkId
from kurz.api.places import Enter, Place, at_root, in_workspace, place_of
from kurz.api.responses import Answer
from kurz.api.schemas.problems import problems
from kurz.api.schemas.stats import StatsRead
from kurz.api.security import needs
from kurz.api.tags import Tag
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
from kurz.clicks.reports import (
    EVERYTHING,
    About,
    Report,
    TopLink,
    about_link,
    about_space,
)
from kurz.clicks.view import view, view_now
from kurz.errors import KurzError
from kurz.links.model import ROOT_WORKSPACE_ID
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

LISTEN_SECONDS = 300  # a browser comes back by itself
BEAT_SECONDS = 15.0  # a proxy closes what is silent for longer
# What was found out about a caller is believed for 4 s, and nobody may hear more after 5.
ASK_AGAIN_SECONDS = 0.5
EXPORTED_VALUES = 1000

router = APIRouter(tags=["stats"], responses=problems(401, 403, 422, 503))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request wants to know. `place` None: about everything."""

    about: About
    place: Place | None


Ask = Callable[..., Awaitable[Asked]]


def _of_link(enter: Enter) -> Ask:
    async def ask(
        request: Request, place: Annotated[Place, Depends(enter)], link_id: LinkId
    ) -> Asked:
        link = await context(request).links.get(link_id, place.scope)
        return Asked(about_link(link, place.space), place)

    return ask


def _of_tag(enter: Enter) -> Ask:
    async def ask(request: Request, place: Annotated[Place, Depends(enter)], tag: Tag) -> Asked:
        return Asked(await context(request).reports.about_tag(place.space, tag), place)

    return ask


def _of_space(enter: Enter) -> Ask:
    async def ask(place: Annotated[Place, Depends(enter)]) -> Asked:
        return Asked(about_space(place.space), place)

    return ask


async def _of_everything(request: Request) -> Asked:
    await get_admin(request)
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
    return read_period(context(request).clock.now(), from_, to, zone)


def _family(
    prefix: str, suffix: str, whose: str, ask: Ask, permission: Permission = Permission.STATS_READ
) -> None:
    """Adds the operations below `prefix`."""
    Wanted = Annotated[Asked, Depends(ask)]  # noqa: N806  a type
    InPeriod = Annotated[Period, Depends(_period)]  # noqa: N806

    @router.get(
        f"{prefix}/stats",
        summary=f"Get statistics of {whose}",
        operation_id=f"get_stats{suffix}",
        response_model=StatsRead,
        openapi_extra=needs(permission),
        responses=problems(404),
    )
    async def get_stats(
        request: Request,
        asked: Wanted,
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
        report = await context(request).reports.get(
            asked.about, period, interval, top=top, compares=compare
        )
        show = await _shower(request, asked.place, report)
        return Answer(200, to_json(view(report, show))).respond()

    @router.get(
        f"{prefix}/stats/live",
        summary=f"Stream live statistics of {whose}",
        operation_id=f"listen_to_stats{suffix}",
        response_class=StreamingResponse,
        openapi_extra=needs(permission),
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **problems(404, 429),
        },
    )
    async def listen(
        request: Request,
        asked: Wanted,
        seconds: Annotated[
            int, Query(ge=0, le=LISTEN_SECONDS, description="Seconds to stream; 0: a single event.")
        ] = LISTEN_SECONDS,
    ) -> Response:
        """Server-sent events: one immediately, and one whenever the numbers change, with today's
        numbers and the newest clicks."""
        kurz, caller = context(request), await get_caller(request)
        if seconds:  # where several processes answer, it is written down that there is a stream
            await kurz.limits.check(LimitClass.WRITE, str(caller.account_id))
        heard = await kurz.live.listen(asked.about, caller.account_id, seconds, ASK_AGAIN_SECONDS)
        ask_again = partial(_enter_again, request, asked.place, permission)
        request.scope["kurz.ends_with_client"] = True
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(
            _events(heard, ask_again), media_type="text/event-stream", headers=headers
        )

    @router.get(
        f"{prefix}/stats/export",
        summary=f"Download statistics of {whose}",
        operation_id=f"export_stats{suffix}",
        response_class=StreamingResponse,
        openapi_extra=needs(permission),
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
        asked: Wanted,
        period: InPeriod,
        what: What = What.SERIES,
        format: StatsFormat = StatsFormat.CSV,  # noqa: A002  the word of the product
        interval: Interval | None = None,
    ) -> Response:
        """The series, the breakdowns, or every single click, as far back as clicks are kept."""
        kurz = context(request)
        file_name, media_type = f"kurz-{what}.{format}", MEDIA_TYPES[format]
        if what is What.EVENTS:
            caller = await get_caller(request)
            return Download(
                write_events(kurz.reports.store, asked.about, period, format),
                kurz.downloads,
                caller.account_id,
                file_name=file_name,
                media_type=media_type,
            )
        report = await kurz.reports.get(asked.about, period, interval, top=EXPORTED_VALUES)
        write = write_series if what is What.SERIES else write_breakdowns
        headers = {"content-disposition": f'attachment; filename="{file_name}"'}
        return Response(write(report, format), media_type=media_type, headers=headers)


async def _enter_again(request: Request, place: Place | None, permission: Permission) -> None:
    """Raises if whoever asked may not ask any more. It costs a query once in a few seconds, however
    often it is called."""
    if place is None:
        await get_admin(request)
        return
    workspace_id = None if place.workspace is None else place.workspace.id
    await place_of(request, await get_caller(request), permission, workspace_id)


async def _events(
    heard: AsyncGenerator[Now | None, None], ask_again: Callable[[], Awaitable[None]]
) -> AsyncIterator[bytes]:
    """Ends when whoever listens may not any more, or nobody can tell: they come back and are told
    why."""
    spoke_at = time.monotonic()
    async with aclosing(heard):
        async for now in heard:
            try:
                await ask_again()
            except KurzError:
                return
            if now is None and time.monotonic() - spoke_at < BEAT_SECONDS:
                continue
            yield b": \n\n" if now is None else b"data: " + to_json(view_now(now)) + b"\n\n"
            spoke_at = time.monotonic()


async def _shower(
    request: Request, place: Place | None, report: Report
) -> Callable[[TopLink], Mapping[str, Any]]:
    """What makes a link's view, once it is known how short URLs begin."""
    kurz = context(request)
    found = [] if report.top_links is None else [item.link for item in report.top_links.links]
    prefixes: dict[int, str] = {}
    for workspace_id in {link.workspace_id for link in found}:
        if place is not None:
            workspace = place.workspace
        elif workspace_id == ROOT_WORKSPACE_ID:
            workspace = None
        else:
            workspace = await kurz.workspaces.find(workspace_id)
        prefixes[workspace_id] = await kurz.prefix(request, workspace)

    def show(item: TopLink) -> Mapping[str, Any]:
        link = item.link
        return {
            "id": kurz.links.public_id(link),
            "short_code": link.short_code,
            "short_url": prefixes[link.workspace_id] + link.short_code,
            "title": link.title,
            "clicks": item.clicks,
        }

    return show


_ROOT, _TEAM = at_root(Permission.STATS_READ), in_workspace(Permission.STATS_READ)
_WORKSPACE = "/api/v1/workspaces/{workspace_id}"
_family("/api/v1/links/{link_id}", "_of_link", "a link", _of_link(_ROOT))
_family(
    _WORKSPACE + "/links/{link_id}",
    "_of_link_in_workspace",
    "a workspace's link",
    _of_link(_TEAM),
)
_family("/api/v1/tags/{tag:path}", "_of_tag", "a tag", _of_tag(_ROOT))
_family(
    _WORKSPACE + "/tags/{tag:path}", "_of_tag_in_workspace", "a workspace's tag", _of_tag(_TEAM)
)
_family(_WORKSPACE, "_of_workspace", "a workspace", _of_space(_TEAM))
_family("/api/v1/me", "_of_me", "your links", _of_space(_ROOT))
_family("/api/v1/admin", "_of_everything", "the installation", _of_everything, Permission.ADMIN)
