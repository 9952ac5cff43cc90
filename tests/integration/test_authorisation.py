"""Who may do what: every operation of the API, tried by everybody there is.

The operations come from the API's own document, so that a new one is tried without a change here.
What is expected is computed from `x-needs` in that document and from what the caller is."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, cast

import httpx2
import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route

from kurz.api.app import create_api
from kurz.people.access import Permission, Role
from kurz.safety.audit import Via
from kurz.settings.model import Settings
from kurz.wiring.core import Kurz
from servers.dns import DnsServer
from support.api_operations import OPERATIONS, OTHER_ANSWERS, PROBES, QUERIES, Operation
from support.authorisation import BODIES, ORIGIN, Principal, World
from support.engines import sqlite_first
from support.people import People
from support.serving import open_app
from support.tables import comparable, read_tables

# Nobody follows a link here.
engine = sqlite_first

# What documents and pages are answered with; nobody's data is behind them.
HIDDEN_PATHS = {
    "/api/openapi.json",
    "/api/docs",
    "/api/docs/{name}",
    "/api/problems/{code}",
    *PROBES,
}
# Also for a key that was made for one workspace: it is shown that one.
NOT_ONLY_PERSONAL = {"list_workspaces"}
# Everybody may leave, but here it is somebody else who is removed: that takes an owner.
BY_OWNERS = {"remove_member"}
TAGS = sorted({operation.about["tags"][0] for operation in OPERATIONS})
LOOK = {Permission.LINKS_READ, Permission.STATS_READ}


def expected(operation: Operation, caller: Principal, owner_id: int) -> set[int]:
    """The statuses that the rules allow for this caller."""
    needs = operation.needs
    if needs == "nobody" or (needs.startswith("optional ") and not caller.headers):
        return operation.success
    if caller.account_id is None:
        return {401}
    if needs == "somebody":
        return operation.success
    if needs == "session" and not caller.is_session:
        return {403}
    if operation.is_in_workspace:
        return _expected_in_workspace(operation, caller)
    if needs != "session":
        permission = Permission(needs.removeprefix("optional "))
        if permission not in caller.permissions:
            return {403}
        if caller.is_for_one_workspace and operation.id not in NOT_ONLY_PERSONAL:
            return {403}
    is_somebodys = {"link_id", "key_id", "tag"} & set(operation.parameters)
    is_hidden = is_somebodys and "/admin/" not in operation.path and caller.account_id != owner_id
    return {404} if is_hidden else operation.success


def _expected_in_workspace(operation: Operation, caller: Principal) -> set[int]:
    if caller.role is None or not caller.is_for_team:
        return {404}
    if operation.needs == "owner" or operation.id in BY_OWNERS:
        may = caller.is_session and caller.role is Role.OWNER
        return operation.success if may else {403}
    permission = Permission(operation.needs)
    may = permission in caller.permissions
    if caller.role is Role.VIEWER:
        may = may and permission in LOOK
    return operation.success if may else {403}


@pytest.fixture(scope="module")
def dns() -> Iterator[DnsServer]:
    with DnsServer() as server:
        yield server


@pytest.fixture
def settings(settings: Settings, dns: DnsServer) -> Settings:
    return replace(settings, dns_servers=(dns.address,))


@pytest.fixture
async def world(kurz: Kurz, people: People, dns: DnsServer) -> AsyncIterator[World]:
    async with open_app(kurz) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            world = World(kurz, people, client)
            await world.fill(dns)
            yield world


@pytest.mark.parametrize("tag", TAGS)
async def test_everybody_may_do_what_the_document_says_and_nothing_else(
    world: World, tag: str
) -> None:
    failures = []
    for operation in OPERATIONS:
        if operation.about["tags"][0] != tag:
            continue
        for caller in world.principals:
            wanted = expected(operation, caller, world.owner.id)
            answer = await world.send(operation, caller.headers)
            if answer.status_code not in wanted:
                failures.append(f"{operation} as {caller.name}: {answer.status_code}, not {wanted}")
            elif (
                answer.status_code >= 300
                and str(answer.status_code) not in (operation.about["responses"])
            ):
                failures.append(f"{operation}: {answer.status_code} is not in the document")
            if answer.status_code < 300 and operation.method != "get":
                await world.reset()
        if not await world.is_unchanged():
            failures.append(f"{operation} was refused, or only asked, and changed something")
            await world.reset()
    assert not failures, "\n".join(failures)


async def test_what_belongs_to_one_workspace_is_not_found_in_another(world: World) -> None:
    """Not even by somebody who owns both."""
    people = world.people
    attacker = await people.add()
    foreign = await people.workspace(attacker, "foreign")
    second = await people.workspace(people.sign_in(world.owner), "second")
    before = comparable(await world.kurz.database.read(read_tables))
    failures = []
    for operation in OPERATIONS:
        names_more = len(operation.parameters) > 1 or operation.id == "transfer_workspace"
        if not operation.is_in_workspace or not names_more:
            continue
        for person, workspace in ((attacker, foreign), (people.sign_in(world.owner), second)):
            path = world.path_of(operation, workspace_id=workspace.id)
            answer = await world.send(operation, person.headers, path)
            if answer.status_code != 404:
                failures.append(f"{operation} with an id of another one: {answer.status_code}")
    assert not failures, "\n".join(failures)
    assert comparable(await world.kurz.database.read(read_tables)) == before


async def test_a_workspaces_link_is_not_found_at_the_root_and_a_personal_one_not_in_it(
    world: World,
) -> None:
    """Both are the same person's."""
    headers = world.people.sign_in(world.owner).headers
    failures = []
    for operation in OPERATIONS:
        if "link_id" not in operation.parameters or "/admin/" in operation.path:
            continue
        other = world.values if operation.is_in_workspace else world.team_values
        path = world.path_of(operation, link_id=other["link_id"])
        answer = await world.send(operation, headers, path)
        if answer.status_code != 404:
            failures.append(f"{operation} with an id from elsewhere: {answer.status_code}")
    assert not failures, "\n".join(failures)
    assert await world.is_unchanged()


async def test_what_is_somebody_elses_looks_as_if_it_did_not_exist(world: World) -> None:
    stranger = await world.people.add()
    checked = 0
    for operation in OPERATIONS:
        names = {"link_id", "key_id", "workspace_id"} & set(operation.parameters)
        if not names or "/admin/" in operation.path:
            continue
        missing = world.path_of(operation, **dict.fromkeys(names, 4_711))
        theirs = await world.send(operation, stranger.headers)
        nobodys = await world.send(operation, stranger.headers, missing)
        assert theirs.status_code == nobodys.status_code == 404, operation
        assert theirs.json() == nobodys.json(), operation
        checked += 1
    assert checked > 20


async def test_head_is_refused_where_get_is(world: World) -> None:
    for operation in OPERATIONS:
        if operation.method != "get":
            continue
        looking = replace(operation, method="head")
        for caller in world.principals:
            wanted = expected(operation, caller, world.owner.id)
            answer = await world.send(looking, caller.headers)
            assert answer.status_code in wanted, f"HEAD {operation.path} as {caller.name}"
            assert answer.content == b""


def test_every_operation_says_who_may_call_it() -> None:
    words = {"nobody", "somebody", "session", "owner"}
    words |= {prefix + each for each in Permission for prefix in ("", "optional ")}
    for operation in OPERATIONS:
        assert operation.needs in words, f"{operation} needs something unknown: {operation.needs}"
        security = operation.about.get("security", [])
        is_open = operation.needs == "nobody" or operation.needs.startswith("optional ")
        assert (not security or {} in security) == is_open, f"{operation}: its security differs"
        takes_keys = {"key": []} in security
        is_for_keys = operation.needs not in ("nobody", "session", "owner")
        assert takes_keys == is_for_keys, f"{operation}: its security differs for keys"


def test_every_route_is_in_the_document_or_known_to_be_harmless() -> None:
    described = {(operation.method, operation.path) for operation in OPERATIONS}
    for route in create_api(cast("Any", None)).routes:
        assert isinstance(route, Route | APIRoute), f"{route}: what kind of route is this?"
        path = route.path_format  # without `:path`
        for method in route.methods or ():
            if path in HIDDEN_PATHS and method in ("GET", "HEAD"):
                continue
            is_head = method == "HEAD" and ("get", path) in described
            message = f"{method} {path} is not in the OpenAPI document"
            assert is_head or (method.lower(), path) in described, message


def test_there_is_a_valid_request_for_every_operation_and_none_too_many() -> None:
    for operation in OPERATIONS:
        takes_body = operation.about.get("requestBody", {}).get("required", False)
        missing = f"{operation}: add a valid body for `{operation.id}` to BODIES"
        assert not takes_body or operation.id in BODIES, missing
        asked = {
            item["name"]
            for item in operation.about.get("parameters", ())
            if item["in"] == "query" and item["required"]
        }
        missing = f"{operation}: add {asked} of `{operation.id}` to QUERIES"
        assert asked <= QUERIES.get(operation.id, {}).keys(), missing
    known = {operation.id for operation in OPERATIONS}
    tables = (*BODIES, *QUERIES, *NOT_ONLY_PERSONAL, *BY_OWNERS, *OTHER_ANSWERS)
    assert {name for name in tables if name not in known} == set()
    assert len(known) == len(OPERATIONS)


@pytest.mark.parametrize(
    "operation",
    [
        operation
        for operation in OPERATIONS
        if operation.needs == Permission.ADMIN and operation.method != "get"
    ],
    ids=lambda operation: operation.id,
)
async def test_the_audit_log_tells_of_every_act_of_an_administrator(
    world: World, operation: Operation
) -> None:
    """What is refused leaves nothing: the first test of this file finds it."""
    [admin] = [caller for caller in world.principals if caller.name == "admin"]
    answer = await world.send(operation, admin.headers)
    assert answer.status_code in operation.success, answer.text
    entries = await world.kurz.audit.list(limit=100)
    assert entries, f"{operation} leaves no trace: call `note` before the act"
    assert {entry.account_id for entry in entries} == {admin.account_id}
    assert {entry.via for entry in entries} == {Via.API}


def test_the_audit_log_is_tried_with_every_way_to_act() -> None:
    unsafe = [it for it in OPERATIONS if "/admin/" in it.path and it.method != "get"]
    assert len(unsafe) >= 12
    assert {it.needs for it in unsafe} == {Permission.ADMIN}
