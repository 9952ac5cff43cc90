"""Many links in one request: each item is done by itself, and has a result of its own."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.responses import Response

from kurz.api.bodies import described, read_body, sent_fields
from kurz.api.creating import PROBLEMS, Maker, maker_at
from kurz.api.dependencies import context
from kurz.api.links import CLEARABLE, delete, edit
from kurz.api.places import Enter, Place, at_root, in_workspace, view_at
from kurz.api.problems import refusal, status_of
from kurz.api.responses import Answer
from kurz.api.schemas.links import Bulk, BulkItem, BulkResults
from kurz.api.security import needs
from kurz.errors import KurzError, problem
from kurz.people.access import Permission
from kurz.people.errors import IdempotencyKeyRefused, IdempotencyKeyReused, RequestInFlight
from kurz.people.limits import LimitClass, header_fields

# Items under way. On SQLite they share their syncs of the disk; on PostgreSQL more of them would
# only wait for connections, together with everybody's redirects.
AT_ONCE = 8

router = APIRouter(tags=["links"], responses=PROBLEMS)
# What is wrong with the whole request, not with one item.
_OF_THE_REQUEST = (IdempotencyKeyRefused, IdempotencyKeyReused, RequestInFlight)


def _add(path: str, suffix: str, enter: Callable[[Permission], Enter]) -> None:
    @router.post(
        path,
        response_model=BulkResults,
        summary="Create, change, delete, restore or purge many links",
        operation_id=f"bulk_links{suffix}",
        openapi_extra=described(Bulk) | needs(Permission.LINKS_CREATE),
    )
    async def bulk(
        request: Request,
        place: Annotated[Place, Depends(enter(Permission.LINKS_CREATE))],
    ) -> Response:
        """Up to 1000 items. If one fails, the others are still processed."""
        kurz = context(request)
        body = await read_body(request, Bulk)
        account, count = str(place.caller.account_id), len(body.items)
        verdict = await kurz.limits.check(LimitClass.BULK, account)
        await kurz.limits.check(LimitClass.BULK_ITEMS, account, max(count, 1))
        worker = _Worker(request, place, await maker_at(request, place))
        async with kurz.receipts.of_many(request, place.caller.name, count):
            results = await worker.run(body.items)
        answer = Answer(200, to_json({"results": results}))
        return answer.respond(**header_fields(verdict))


class _Worker:
    def __init__(self, request: Request, place: Place, maker: Maker) -> None:
        self._request = request
        self._place = place
        self._maker = maker
        self._turn = asyncio.Semaphore(AT_ONCE)
        # Items about the same link are done one after the other, in their order.
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        results = await asyncio.gather(
            *(self._attempt(number, item) for number, item in enumerate(items)),
            return_exceptions=True,  # no item goes on behind the answer
        )
        return [_result(item) for item in results]

    async def _attempt(self, number: int, item: dict[str, Any]) -> dict[str, Any]:
        link_id = item.get("id")
        lock = self._locks[link_id] if isinstance(link_id, int) else nullcontext()
        async with lock, self._turn:
            try:
                return await self._do(number, _item(item))
            except _OF_THE_REQUEST:
                raise
            except KurzError as error:
                status = status_of(type(error))
                return {"status": status, "problem": problem(error, status)}

    async def _do(self, number: int, item: BulkItem) -> dict[str, Any]:
        _check_fields(item)
        if item.act == "create":
            return await self._create(number, item)
        self._place.caller.require(Permission.LINKS_WRITE)
        if item.id is None:
            raise refusal([{"type": "missing", "loc": ("id",), "msg": "Field required"}])
        request, place = self._request, self._place
        if item.act == "purge":
            trash = context(request).trash
            account_id = place.caller.account_id
            await trash.purge(
                item.id, place.scope, expected_version=item.version, account_id=account_id
            )
            return {"status": 204}
        if item.act == "edit":
            link = await edit(
                request, place, item.id, sent_fields(item.changes, *CLEARABLE), item.version
            )
        elif item.act == "delete":
            link = await delete(request, place, item.id, item.version)
        else:
            link = await context(request).links.restore(
                item.id,
                place.scope,
                expected_version=item.version,
                account_id=place.caller.account_id,
            )
        return {"status": 200, "link": await view_at(request, link, place)}

    async def _create(self, number: int, item: BulkItem) -> dict[str, Any]:
        if item.link is None:
            raise refusal([{"type": "missing", "loc": ("link",), "msg": "Field required"}])
        maker = self._maker
        draft = maker.draft(item.link)
        answer = await maker.kurz.receipts.once(
            self._request,
            maker.name,
            lambda receipt: maker.create(draft, receipt),
            maker.answer,
            part=str(number),
        )
        return {"status": answer.status, "link": from_json(answer.body)}


def _result(found: dict[str, Any] | BaseException) -> dict[str, Any]:
    if isinstance(found, BaseException):
        raise found
    return found


def _check_fields(item: BulkItem) -> None:
    """Refuses what the act does not take: nobody is to believe that it did something."""
    for name in sorted(item.model_fields_set - _FIELDS[item.act]):
        message = f"Not allowed for `{item.act}`"
        raise refusal([{"type": "surplus", "loc": (name,), "msg": message}])


_FIELDS = {
    "create": {"act", "link"},
    "edit": {"act", "id", "version", "changes"},
    "delete": {"act", "id", "version"},
    "restore": {"act", "id", "version"},
    "purge": {"act", "id", "version"},
}


def _item(item: dict[str, Any]) -> BulkItem:
    try:
        return BulkItem.model_validate_json(to_json(item))
    except ValidationError as error:
        raise refusal(error.errors(include_url=False, include_input=False)) from None


_add("/api/v1/links/bulk", "", at_root)
_add("/api/v1/workspaces/{workspace_id}/links/bulk", "_in_workspace", in_workspace)
