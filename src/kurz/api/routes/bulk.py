"""Many links in one request: each item is done separately, and has its own result."""

import asyncio
from collections import defaultdict
from contextlib import nullcontext
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.responses import Response

from kurz.api.http.bodies import described, read_body, sent_fields
from kurz.api.http.dependencies import context, services
from kurz.api.http.problems import refusal, status_of
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.spaces import LinkSpace, SpacePath, at_root_and_in_workspaces, view_at
from kurz.api.routes.creating import PROBLEMS, LinkCreator, creator_for
from kurz.api.routes.links import CLEARABLE, delete, edit
from kurz.api.schemas.links import Bulk, BulkItem, BulkResults
from kurz.errors import KurzError, problem
from kurz.people.access import Permission
from kurz.people.errors import IdempotencyKeyRefused, IdempotencyKeyReused, RequestInFlight
from kurz.people.limits import LimitClass, header_fields

# Items in progress. On SQLite they share disk syncs; on PostgreSQL more of them would only wait for
# connections, together with all redirects.
AT_ONCE = 8
# New links that are inserted together, on one connection. More would make iterations of the event
# loop long.
CREATES_AT_ONCE = 32

router = APIRouter(tags=["links"], responses=PROBLEMS)
# What is wrong with the whole request, not with one item.
_OF_THE_REQUEST = (IdempotencyKeyRefused, IdempotencyKeyReused, RequestInFlight)


@at_root_and_in_workspaces
def _add_routes(at: SpacePath) -> None:
    @router.post(
        f"{at.prefix}/links/bulk",
        response_model=BulkResults,
        summary="Create, change, delete, restore or purge many links",
        openapi_extra=described(Bulk),
    )
    async def bulk_links(
        request: Request,
        space: Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_CREATE))],
    ) -> Response:
        """Up to 1000 items. If one fails, the others are still processed."""
        kurz = context(request)
        body = await read_body(request, Bulk)
        account, count = str(space.caller.account_id), len(body.items)
        verdict = await kurz.limits.check(LimitClass.BULK, account)
        await kurz.limits.check(LimitClass.BULK_ITEMS, account, max(count, 1))
        worker = _Worker(request, space, await creator_for(request, space))
        async with kurz.receipts.of_many(request, space.caller.name, count):
            results = await worker.run(body.items)
        answer = ApiAnswer(200, to_json({"results": results}))
        return answer.respond(**header_fields(verdict))


class _Worker:
    def __init__(self, request: Request, space: LinkSpace, creator: LinkCreator) -> None:
        self._request = request
        self._space = space
        self._creator = creator
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._create_turn = asyncio.Semaphore(CREATES_AT_ONCE)
        self._has_key = context(request).receipts.has_key(request)
        self._has_quota = bool(space.allowances(context(request)))
        # Items about the same link are done one after the other, in their order.
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        results = await asyncio.gather(
            *(self._attempt(number, item) for number, item in enumerate(items)),
            return_exceptions=True,  # no item continues after the answer
        )
        return [_result(item) for item in results]

    async def _attempt(self, number: int, item: dict[str, Any]) -> dict[str, Any]:
        link_id = item.get("id")
        lock = self._locks[link_id] if isinstance(link_id, int) else nullcontext()
        async with lock, self._turn_of(item):
            try:
                return await self._do(number, _item(item))
            except _OF_THE_REQUEST:
                raise
            except KurzError as error:
                status = status_of(type(error))
                return {"status": status, "problem": problem(error, status)}

    def _turn_of(self, item: dict[str, Any]) -> asyncio.Semaphore:
        """The limit that applies to an item, which is not validated yet."""
        link = item.get("link")
        has_tags = isinstance(link, dict) and bool(link.get("tags"))
        if item.get("action") != "create" or has_tags or self._has_key or self._has_quota:
            return self._turn
        return self._create_turn

    async def _do(self, number: int, item: BulkItem) -> dict[str, Any]:
        _check_fields(item)
        if item.action == "create":
            return await self._create(number, item)
        self._space.caller.require(Permission.LINKS_WRITE)
        if item.id is None:
            raise refusal([{"type": "missing", "loc": ("id",), "msg": "Field required"}])
        request, space = self._request, self._space
        if item.action == "purge":
            trash = services(request).trash
            account_id = space.caller.account_id
            await trash.purge(
                item.id, space.scope, expected_version=item.version, account_id=account_id
            )
            return {"status": 204}
        if item.action == "edit":
            link = await edit(
                request, space, item.id, sent_fields(item.changes, *CLEARABLE), item.version
            )
        elif item.action == "delete":
            link = await delete(request, space, item.id, item.version)
        else:
            link = await services(request).links.restore(
                item.id,
                space.scope,
                expected_version=item.version,
                account_id=space.caller.account_id,
            )
        return {"status": 200, "link": await view_at(request, link, space)}

    async def _create(self, number: int, item: BulkItem) -> dict[str, Any]:
        if item.link is None:
            raise refusal([{"type": "missing", "loc": ("link",), "msg": "Field required"}])
        creator = self._creator
        draft = creator.draft(item.link)
        if not self._has_key:  # no response is stored, so it need not be text yet
            created = await creator.create(draft, None)
            return {"status": 201 if created.is_new else 200, "link": creator.view(created)}
        answer = await creator.kurz.receipts.once(
            self._request,
            creator.name,
            lambda receipt: creator.create(draft, receipt),
            creator.answer,
            part=str(number),
        )
        return {"status": answer.status, "link": from_json(answer.body)}


def _result(found: dict[str, Any] | BaseException) -> dict[str, Any]:
    if isinstance(found, BaseException):
        raise found
    return found


def _check_fields(item: BulkItem) -> None:
    """Refuses fields that the action does not use, so that nobody assumes an effect."""
    for name in sorted(item.model_fields_set - _FIELDS[item.action]):
        message = f"Not allowed for `{item.action}`"
        raise refusal([{"type": "surplus", "loc": (name,), "msg": message}])


_FIELDS = {
    "create": {"action", "link"},
    "edit": {"action", "id", "version", "changes"},
    "delete": {"action", "id", "version"},
    "restore": {"action", "id", "version"},
    "purge": {"action", "id", "version"},
}


def _item(item: dict[str, Any]) -> BulkItem:
    try:
        return BulkItem.model_validate_json(to_json(item))
    except ValidationError as error:
        raise refusal(error.errors(include_url=False, include_input=False)) from None
