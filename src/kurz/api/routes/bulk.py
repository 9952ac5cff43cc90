"""Many links in one request: each item is done separately, and has its own result."""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import nullcontext
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from pydantic_core import to_json
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
from kurz.links.model import Created, Draft
from kurz.people.access import Permission
from kurz.people.errors import IdempotencyKeyRefused, IdempotencyKeyReused, RequestInFlight
from kurz.people.limits import LimitClass, header_fields

# Items in progress. On SQLite they share disk syncs; on PostgreSQL more of them would only wait for
# connections, together with all redirects.
AT_ONCE = 8
# New links in a transaction, which takes some 10 ms, and such transactions in progress.
CREATES_TOGETHER, BATCHES_AT_ONCE = 250, 2
RENDERED_A_TURN = 32  # results, in an iteration of the event loop: about 1 ms

router = APIRouter(tags=["links"], responses=PROBLEMS)
_Numbered = tuple[int, dict[str, Any]]  # an item, and its place in the request
_Results = dict[int, bytes]  # as JSON, by this place
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
        answer = ApiAnswer(200, b'{"results":[' + b",".join(results) + b"]}")
        return answer.respond(**header_fields(verdict))


class _Worker:
    """Renders each result as soon as there is one: all at once would hold up the event loop."""

    def __init__(self, request: Request, space: LinkSpace, creator: LinkCreator) -> None:
        self._request = request
        self._space = space
        self._creator = creator
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._batch_turn = asyncio.Semaphore(BATCHES_AT_ONCE)
        self._has_key = context(request).receipts.has_key(request)
        # Items about the same link are done one after the other, in their order.
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, items: Sequence[dict[str, Any]]) -> list[bytes]:
        numbered: list[_Numbered] = [*enumerate(items)]
        # A new link with a key is stored together with its answer, in a transaction of its own.
        together = [it for it in numbered if _is_create(it[1]) and not self._has_key]
        alone = [it for it in numbered if not _is_create(it[1]) or self._has_key]
        found = await _gather(
            *(self._create_together(part) for part in _parts(together)),
            *(self._attempt(number, item) for number, item in alone),
        )
        return [found[number] for number in range(len(items))]

    async def _create_together(self, batch: Sequence[_Numbered]) -> _Results:
        """Creates as many of these links as possible in one transaction, and the others one by
        one."""
        async with self._batch_turn:
            found = await self._create_batch(batch)
        others = [(number, item) for number, item in batch if number not in found]
        return found | await _gather(*(self._attempt(number, item) for number, item in others))

    async def _create_batch(self, batch: Sequence[_Numbered]) -> _Results:
        found, drafts = _Results(), dict[int, Draft]()
        for place, (number, item) in enumerate(batch):
            await _let_others_run(place)
            try:
                drafts[number] = self._draft(_item(item))
            except KurzError as error:
                found[number] = _refused(error)
        try:
            created = await self._creator.create_many([*drafts.values()])
        except KurzError as error:
            return found | dict.fromkeys(drafts, _refused(error))
        for place, (number, result) in enumerate(zip(drafts, created, strict=True)):
            await _let_others_run(place)
            if isinstance(result, KurzError):
                found[number] = _refused(result)
            elif result is not None:
                found[number] = self._created(result)
        return found

    async def _attempt(self, number: int, item: dict[str, Any]) -> _Results:
        link_id = item.get("id")
        lock = self._locks[link_id] if isinstance(link_id, int) else nullcontext()
        async with lock, self._turn:
            try:
                return {number: await self._do(number, _item(item))}
            except _OF_THE_REQUEST:
                raise
            except KurzError as error:
                return {number: _refused(error)}

    async def _do(self, number: int, item: BulkItem) -> bytes:
        if item.action == "create":
            return await self._create(number, item)
        _check_fields(item)
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
            return to_json({"status": 204})
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
        return to_json({"status": 200, "link": await view_at(request, link, space)})

    async def _create(self, number: int, item: BulkItem) -> bytes:
        creator = self._creator
        draft = self._draft(item)
        if not self._has_key:
            return self._created(await creator.create(draft, None))
        answer = await creator.kurz.receipts.once(
            self._request,
            creator.name,
            lambda receipt: creator.create(draft, receipt),
            creator.answer,
            part=str(number),
        )
        return b'{"status":%d,"link":%b}' % (answer.status, answer.body)

    def _draft(self, item: BulkItem) -> Draft:
        _check_fields(item)
        if item.link is None:
            raise refusal([{"type": "missing", "loc": ("link",), "msg": "Field required"}])
        return self._creator.draft(item.link)

    def _created(self, created: Created) -> bytes:
        status = 201 if created.is_new else 200
        return to_json({"status": status, "link": self._creator.view(created)})


async def _gather(*parts: Coroutine[Any, Any, _Results]) -> _Results:
    results = _Results()
    # No item continues after the answer, not even if another one raises an error.
    for found in await asyncio.gather(*parts, return_exceptions=True):
        if isinstance(found, BaseException):
            raise found
        results.update(found)
    return results


def _is_create(item: dict[str, Any]) -> bool:
    return item.get("action") == "create"


def _parts(items: Sequence[_Numbered]) -> Iterator[Sequence[_Numbered]]:
    for start in range(0, len(items), CREATES_TOGETHER):
        yield items[start : start + CREATES_TOGETHER]


async def _let_others_run(place: int) -> None:
    if place % RENDERED_A_TURN == RENDERED_A_TURN - 1:
        await asyncio.sleep(0)


def _refused(error: KurzError) -> bytes:
    status = status_of(type(error))
    return to_json({"status": status, "problem": problem(error, status)})


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
