"""Commands about links: the operator's tool, on the store itself."""

import shlex
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlsplit

import typer

from kurz.cli import output, values
from kurz.cli.session import AsJson, DataDir, note, shown_base_url, with_kurz
from kurz.cli.workspace_lookup import address_of, find_workspace, get_workspace, id_of, own_hosts
from kurz.links.errors import FieldRefused, InstantRefused, LinkNotFound
from kurz.links.model import DestinationStatus, Draft, Edit, Filter, Link, Scope, Status, Strategy
from kurz.settings.addresses import LOOPBACK

if TYPE_CHECKING:
    from pathlib import Path

    from kurz.links.model import LinkPage
    from kurz.wiring.core import Kurz

EVERYTHING = Scope()  # the operator sees every link

Reference = Annotated[
    str, typer.Argument(metavar="LINK", help="A code, @workspace/code or a short URL.")
]
WorkspaceOption = Annotated[
    str | None,
    typer.Option("--workspace", "-w", help="A workspace's slug or ID; the root if omitted."),
]
OnlyWorkspace = Annotated[
    str | None,
    typer.Option("--workspace", "-w", help="Only links of this workspace (slug or ID)."),
]
StartsAt = Annotated[
    datetime | None,
    typer.Option(parser=values.instant, metavar="TIME", help="When the link starts to work."),
]
ExpiresAt = Annotated[
    datetime | None,
    typer.Option(
        parser=values.instant, metavar="TIME", help="Expiry date, such as 2030-01-31T18:00."
    ),
]
ExpiresIn = Annotated[
    int | None,
    typer.Option(
        parser=values.seconds, metavar="TIME", help="Time until it expires, such as 45s, 12h or 3d."
    ),
]

commands = typer.Typer()


class Clearable(StrEnum):
    EXPIRY = "expiry"
    START = "start"
    TITLE = "title"
    TAGS = "tags"
    NOTES = "notes"
    MAX_CLICKS = "max-clicks"


_CLEARED: dict[Clearable, tuple[str, object]] = {
    Clearable.EXPIRY: ("expires_at", None),
    Clearable.START: ("starts_at", None),
    Clearable.TITLE: ("title", None),
    Clearable.TAGS: ("tags", ()),
    Clearable.NOTES: ("notes", None),
    Clearable.MAX_CLICKS: ("max_clicks", None),
}


@commands.command()
def create(
    url: Annotated[str, typer.Argument(help="The destination URL.")],
    code: Annotated[str | None, typer.Option(help="A custom code; generated if omitted.")] = None,
    workspace: WorkspaceOption = None,
    strategy: Annotated[Strategy | None, typer.Option(help="How to generate the code.")] = None,
    expires_in: ExpiresIn = None,
    expires_at: ExpiresAt = None,
    starts_at: StartsAt = None,
    title: Annotated[str | None, typer.Option(help="A title.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    notes: Annotated[str | None, typer.Option(help="Notes.")] = None,
    redirect_status: Annotated[int | None, typer.Option(help="301, 302, 307 or 308.")] = None,
    forward_query: Annotated[
        bool, typer.Option("--forward-query", help="Forward the visitor's query parameters.")
    ] = False,
    max_clicks: Annotated[int | None, typer.Option(min=1, help="Click limit.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Create a permanent link and print its short URL."""
    _check_one_expiry(expires_in, expires_at)

    async def work(kurz: "Kurz") -> tuple[dict[str, Any], bool]:
        place = await find_workspace(kurz, workspace)
        draft = Draft(
            original_url=url,
            workspace_id=id_of(place),
            custom_code=code,
            strategy=strategy,
            default_strategy=None if place is None else Strategy(place.strategy),
            default_expiry_days=None if place is None else place.default_expiry_days,
            expires_in_seconds=expires_in,
            expires_at=expires_at,
            starts_at=starts_at,
            title=title,
            tags=tuple(tag or ()),
            notes=notes,
            redirect_status=redirect_status,
            forward_query=forward_query,
            max_clicks=max_clicks,
        )
        created = await kurz.links.create(draft, own_hosts=own_hosts(kurz))
        return await view_of(kurz, created.link), created.is_new

    item, is_new = with_kurz(data_dir, work)
    hint = None if is_new else "This link already exists. Nothing was changed."
    output.print_result(item, item["short_url"], hint, as_json=as_json)


@commands.command("list")
def list_links(
    search: Annotated[str | None, typer.Argument(help="Part of a code, URL or title.")] = None,
    workspace: OnlyWorkspace = None,
    status: Annotated[
        Status | None, typer.Option(case_sensitive=False, help="Only links with this status.")
    ] = None,
    check: Annotated[
        DestinationStatus | None,
        typer.Option(help="Only links with this destination check result."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of links.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue after an earlier page.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List links, newest first."""

    async def work(kurz: "Kurz") -> tuple[list[dict[str, Any]], "LinkPage", datetime]:
        only = None if workspace is None else (await get_workspace(kurz, workspace)).id
        wanted = Filter(search=search, status=status, destination_status=check, with_deleted=True)
        page = await _find_page(kurz, Scope(only), wanted, cursor, limit)
        views = [await view_of(kurz, link) for link in page.links]
        return views, page, kurz.clock.now()

    views, page, now = with_kurz(data_dir, work, doing="Searching")
    total, next_cursor = page.total, page.next_cursor
    if as_json:
        shown = {"links": views, "total": total, "is_total_exact": page.is_total_exact}
        shown |= {"is_complete": page.is_complete, "next_cursor": next_cursor}
        output.print_json(shown)
        return
    if views:
        output.print_links(views, now)
    noun = "link" if total == 1 else "links"
    least = "" if page.is_total_exact else "at least "
    output.print_hint(f"{len(views)} of {least}{total:,} {noun}" if views else "No links.")
    if not page.is_complete:
        output.print_hint("Only part of the links was searched.")
    if next_cursor:
        given = [] if search is None else [search]
        given += [] if workspace is None else ["--workspace", workspace]
        given += [] if status is None else ["--status", status.lower()]
        given += [] if check is None else ["--check", check]
        given += ["--limit", str(limit), "--cursor", next_cursor]
        output.print_hint("More: " + command(data_dir, "list", *given))
    elif not views and search is None and status is None and check is None:
        output.print_hint("Create one: kurz create https://example.com/a/long/path")


async def _find_page(
    kurz: "Kurz", scope: Scope, wanted: Filter, cursor: str | None, limit: int
) -> "LinkPage":
    """The next page that has links. Pages can be empty if only part of the links was searched."""
    page = await kurz.links.list(scope, wanted, cursor=cursor, limit=limit)
    while not page.links and page.next_cursor is not None:
        page = await kurz.links.list(scope, wanted, cursor=page.next_cursor, limit=limit)
    return page


@commands.command()
def show(link: Reference, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show a link."""

    async def work(_: "Kurz", found: Link) -> Link:
        return found

    act_on(link, work, as_json, data_dir)


@commands.command()
def edit(
    link: Reference,
    url: Annotated[str | None, typer.Option(help="The new destination URL.")] = None,
    code: Annotated[str | None, typer.Option(help="A new code; the old one stops working.")] = None,
    expires_in: ExpiresIn = None,
    expires_at: ExpiresAt = None,
    starts_at: StartsAt = None,
    title: Annotated[str | None, typer.Option(help="A title.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="The new tags, replacing all others; repeatable.")
    ] = None,
    notes: Annotated[str | None, typer.Option(help="Notes.")] = None,
    redirect_status: Annotated[int | None, typer.Option(help="301, 302, 307 or 308.")] = None,
    forward_query: Annotated[
        bool | None, typer.Option(help="Forward the visitor's query parameters.")
    ] = None,
    max_clicks: Annotated[int | None, typer.Option(min=1, help="Click limit.")] = None,
    paused: Annotated[
        bool | None, typer.Option("--pause/--resume", help="Pause or resume the link.")
    ] = None,
    clear: Annotated[
        list[Clearable] | None, typer.Option(help="Clear a field; repeatable.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Change a link."""

    async def work(kurz: "Kurz", found: Link) -> Link:
        given = {
            "original_url": url,
            "custom_code": code,
            "expires_at": _expiry(kurz, expires_in, expires_at),
            "starts_at": starts_at,
            "title": title,
            "tags": tuple(tag) if tag else None,
            "notes": notes,
            "redirect_status": redirect_status,
            "forward_query": forward_query,
            "max_clicks": max_clicks,
            "is_paused": paused,
        }
        changes: dict[str, object] = {k: value for k, value in given.items() if value is not None}
        cleared = dict(_CLEARED[item] for item in clear or ())
        if both := sorted(changes.keys() & cleared.keys()):
            raise FieldRefused(f"A field cannot be both set and cleared: {', '.join(both)}.")
        changes |= cleared
        if not changes:
            raise FieldRefused("Give at least one field to change. See `kurz edit --help`.")
        public_id = kurz.links.public_id(found)
        await note(kurz, "edit-link", f"link {public_id}", fields=sorted(changes))
        return await kurz.links.edit(
            public_id, EVERYTHING, cast("Edit", changes), own_hosts=own_hosts(kurz)
        )

    act_on(link, work, as_json, data_dir)


@commands.command()
def delete(link: Reference, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Move a link to the trash."""

    async def work(kurz: "Kurz", found: Link) -> Link:
        public_id = kurz.links.public_id(found)
        await note(kurz, "delete-link", f"link {public_id}")
        return await kurz.links.delete(public_id, EVERYTHING)

    act_on(link, work, as_json, data_dir)
    if not as_json:
        output.print_hint("Undo: " + command(data_dir, "restore", link))


@commands.command()
def restore(
    link: Reference,
    expires_in: ExpiresIn = None,
    expires_at: ExpiresAt = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Restore an expired or deleted link, or a backup into an empty data folder."""
    from kurz.cli import backup

    if backup.is_meant(link, data_dir):
        backup.restore(link, as_json, data_dir)
        return

    async def work(kurz: "Kurz", found: Link) -> Link:
        expiry = _expiry(kurz, expires_in, expires_at)
        public_id = kurz.links.public_id(found)
        await note(kurz, "restore-link", f"link {public_id}")
        return await kurz.links.restore(public_id, EVERYTHING, expires_at=expiry)

    act_on(link, work, as_json, data_dir)


@commands.command()
def code(
    url: Annotated[str, typer.Argument(help="The URL.")],
    workspace: Annotated[int, typer.Option("--workspace", "-w", min=1, help="The workspace's ID.")],
    as_json: AsJson = False,
) -> None:
    """Compute a URL's deterministic code, without a database."""
    from kurz.links import urls
    from kurz.links.codes import deterministic

    canonical_url = urls.judge(url).canonical
    short_code = deterministic.generate(canonical_url, workspace)
    shown = {"canonical_url": canonical_url, "short_code": short_code}
    output.print_result(shown, short_code, as_json=as_json)


def act_on(
    reference: str,
    act: Callable[["Kurz", Link], Awaitable[Link]],
    as_json: bool,
    data_dir: "Path | None",
    show: Callable[[Mapping[str, Any], datetime], None] = output.print_link,
) -> None:
    """Finds the link, acts on it and shows it."""
    values.reference(reference)  # before anything is opened

    async def work(kurz: "Kurz") -> tuple[dict[str, Any], datetime]:
        found = await find_link(kurz, reference)
        return await view_of(kurz, await act(kurz, found)), kurz.clock.now()

    item, now = with_kurz(data_dir, work)
    if as_json:
        output.print_json(item)
    else:
        show(item, now)


async def find_link(kurz: "Kurz", reference: str) -> Link:
    """The link with this code, workspace and code, or short URL."""
    host, slug, short_code = values.reference(reference)
    own = urlsplit(shown_base_url(kurz.settings)).hostname
    if host not in (None, own, *LOOPBACK):
        raise LinkNotFound(f"{host} is another site. Use a code or a short URL of {own}.")
    workspace = await find_workspace(kurz, slug)
    return await kurz.links.get_by_code(id_of(workspace), short_code)


def command(data_dir: "Path | None", *words: str) -> str:
    """A command to type next, on the same data."""
    place = [] if data_dir is None else ["--data-dir", str(data_dir)]
    return shlex.join(["kurz", *words, *place])


async def view_of(kurz: "Kurz", link: Link) -> dict[str, Any]:
    from kurz.links.view import view

    return view(link, kurz.links, await address_of(kurz, link))


def _expiry(kurz: "Kurz", expires_in: int | None, expires_at: datetime | None) -> datetime | None:
    from datetime import timedelta

    _check_one_expiry(expires_in, expires_at)
    return expires_at if expires_in is None else kurz.clock.now() + timedelta(seconds=expires_in)


def _check_one_expiry(expires_in: int | None, expires_at: datetime | None) -> None:
    if expires_in is not None and expires_at is not None:
        raise InstantRefused("Use either --expires-in or --expires-at, not both.")
