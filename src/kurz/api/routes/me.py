"""`/api/v1/me` and `/api/v1/keys`: the caller's account, its export and deletion, and its keys."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse

from kurz.api.http.bodies import read_body, takes
from kurz.api.http.callers import AnyCaller, Session
from kurz.api.http.dependencies import Context, context, services
from kurz.api.http.devices import signed_in_asker
from kurz.api.http.downloads import Download
from kurz.api.http.pages import PageRequest, page_by
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.spaces import LinkSpace, views
from kurz.api.routes.auth import account_read
from kurz.api.schemas.people import AccountDelete, KeyCreate, KeyList, KeyRead, MeRead, NewKeyRead
from kurz.api.schemas.problems import problems
from kurz.clock import to_micros
from kurz.links.model import Filter, Scope
from kurz.paging import Part
from kurz.people.access import Caller, Permission
from kurz.people.errors import OwnerMissing, PermissionMissing, WorkspaceNotFound
from kurz.people.ids import SIZE
from kurz.people.keys import Key
from kurz.people.receipts import Receipt

router = APIRouter(prefix="/api/v1", tags=["me"], responses=problems(401, 403, 503))

KeyId = Annotated[int, Path(ge=1, lt=2**53)]
PAGE = 500


@router.get("/me", summary="Get the current account")
async def me(request: Request, caller: AnyCaller) -> MeRead:
    kurz = context(request)
    account = await kurz.services.accounts.get(caller.account_id)
    return MeRead(
        **account_read(account).model_dump(),
        scopes=sorted(caller.permissions),
        import_row_limit=kurz.imports.limits.rows_of(account),
    )


@router.delete(
    "/me",
    status_code=204,
    summary="Delete your account",
    **takes(AccountDelete, 409, 429),
)
async def delete_me(request: Request, caller: Session) -> Response:
    """Export your data first: this cannot be undone. Your links move to the trash, your keys and
    tokens end, and workspaces with no other members are deleted. Links you created in other
    workspaces stay there."""
    kurz = context(request)
    body = await read_body(request, AccountDelete)
    asker = await signed_in_asker(request, caller.account_id)
    account = await kurz.services.accounts.check_password(caller.account_id, body.password, asker)
    await _keep_root(kurz, caller)
    if not await kurz.services.accounts.delete(account.id, epoch=account.epoch):
        raise OwnerMissing(
            "You are the last administrator, or the only owner of a workspace with other"
            " members. Make someone else administrator or owner first."
        )
    kurz.sessions.identity.forget()
    return Response(status_code=204)


async def _keep_root(kurz: Context, caller: Caller) -> None:
    """The workspace at the root needs a member: its links would work without one."""
    if kurz.options.root_workspace_id is None:
        return
    members = await kurz.services.teams.members(kurz.options.root_workspace_id, Part(limit=2))
    if [member.account_id for member in members] == [caller.account_id]:
        raise OwnerMissing("You are the only member of the root workspace. Invite someone first.")


@router.get(
    "/me/export",
    summary="Export your data",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
async def export_me(request: Request, caller: Session) -> Response:
    """JSON Lines: your account, keys (without secrets), workspaces and all your links, including
    those in the trash. `kind` says what each line is."""
    lines = _export(request, caller)
    return Download(
        lines,
        context(request).downloads,
        caller.account_id,
        file_name="kurz-account.jsonl",
        media_type="application/x-ndjson",
    )


async def _export(request: Request, caller: Caller) -> AsyncIterator[bytes]:
    kurz = services(request)
    account = await kurz.accounts.get(caller.account_id)
    yield _line("account", account_read(account).model_dump())
    for key in await kurz.keys.list(caller.account_id):
        yield _line("key", KeyRead(**key.view()).model_dump())
    for workspace, role in await kurz.teams.list_of(caller):
        yield _line("workspace", {"id": workspace.id, "slug": workspace.slug, "role": role})
    space = LinkSpace(Scope(0, caller.account_id), None, caller)
    wanted, cursor = Filter(with_deleted=True), None
    while True:
        page = await kurz.links.list(space.scope, wanted, cursor=cursor, limit=PAGE)
        for item in await views(request, page.links, space):
            yield _line("link", item)
        cursor = page.next_cursor
        if cursor is None:
            break


def _line(kind: str, values: dict[str, Any]) -> bytes:
    return to_json({"kind": kind, **values}) + b"\n"


@router.post(
    "/keys",
    status_code=201,
    response_model=NewKeyRead,
    tags=["keys"],
    summary="Create an API key",
    **takes(KeyCreate, 404, 409),
)
async def create_key(request: Request, caller: Session) -> Response:
    """The key is shown once. It can do what its scopes allow, limited to your own permissions."""
    kurz = context(request)
    body = await read_body(request, KeyCreate)
    if body.workspace_id is not None:
        if body.workspace_id >= SIZE:  # no engine could store such an id
            raise WorkspaceNotFound("You are not a member of a workspace with this ID.")
        await kurz.services.teams.enter(caller, body.workspace_id, Permission.LINKS_READ)
    wanted = frozenset(body.scopes)
    if not wanted <= caller.permissions:
        raise PermissionMissing("Only administrators can create a key with the scope `admin`.")

    async def act(receipt: Receipt | None) -> tuple[str, Key]:
        return await kurz.services.keys.create(
            caller.account_id,
            body.name,
            wanted,
            workspace_id=body.workspace_id,
            expires_at=body.expires_at,
            receipt=receipt,
            at_most=kurz.options.caps.keys,
            epoch=caller.epoch,
        )

    answer = await kurz.receipts.once(request, caller.name, act, _new_key)
    return answer.respond()


@router.get(
    "/keys",
    tags=["keys"],
    summary="List your API keys",
    responses=problems(422),
)
async def list_keys(
    request: Request, caller: Session, page: Annotated[PageRequest, page_by(int, int)]
) -> KeyList:
    """Newest first, without secrets."""
    found, following = await page.fetch(
        partial(services(request).keys.list, caller.account_id),
        lambda it: (to_micros(it.created_at), it.id),
    )
    return KeyList(keys=[KeyRead(**key.view()) for key in found], next_cursor=following)


@router.delete(
    "/keys/{key_id}",
    status_code=204,
    tags=["keys"],
    summary="Revoke an API key",
    responses=problems(404, 422),
)
async def revoke_key(request: Request, caller: Session, key_id: KeyId) -> Response:
    """The key stops working everywhere within 5 seconds."""
    kurz = context(request)
    await kurz.services.keys.revoke(key_id, caller.account_id)
    kurz.sessions.identity.forget()
    return Response(status_code=204)


def _new_key(made: tuple[str, Key]) -> ApiAnswer:
    text, key = made
    body = NewKeyRead(**key.view(), key=text)
    return ApiAnswer(201, body.model_dump_json().encode())
