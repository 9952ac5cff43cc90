"""Who may do what: every operation of the API, tried by everybody there is.

The operations come from the API's own table, so that a new one is in here by itself. What is
expected is computed from `x-needs` in the OpenAPI document and from what the caller is.
"""

import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

import httpx2
import pytest
import sqlalchemy as sa
from fastapi.routing import APIRoute
from starlette.routing import Route

from kurz.api.app import create_api
from kurz.bootstrap import Kurz
from kurz.links.model import Draft, Link, Scope
from kurz.people.access import Permission, Role
from kurz.people.accounts import Account
from kurz.people.keyring import Keyring
from kurz.people.tokens import Tokens
from kurz.people.workspaces import Workspace
from kurz.safety.audit import Via
from kurz.safety.reports import Category, Complaint, State
from kurz.secret import keep_secret
from kurz.serving import open_app
from kurz.settings import Settings
from kurz.storage import schema
from servers.dns import DnsServer
from support.clock import FrozenClock
from support.engines import sqlite_first
from support.people import PASSWORD, People, Person

# Nobody follows a link here.
engine = sqlite_first

ORIGIN = "http://kurz.test"
URL = "https://example.com/a/new/page"
NEW_PASSWORD = "another horse, another battery"
TAG = "red"
PENDING_HOST = "go.example.com"
VERIFIED_HOST = "links.example.com"
METHODS = ("get", "put", "post", "patch", "delete")

# These two say nothing about who may call them.
PROBES = {"/healthz", "/readyz"}
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
# Where the thing that is asked for fails for another reason than who asks.
OTHER_ANSWERS = {"set_up": 422}  # there is an administrator already


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    about: Mapping[str, Any]

    @property
    def id(self) -> str:
        name: str = self.about["operationId"]
        return name

    @property
    def needs(self) -> str:
        found: str | None = self.about.get("x-needs")
        if found is None and self.path in PROBES:
            return "nobody"
        assert found is not None, f"{self} does not say who may call it: give it `x-needs`."
        return found

    @property
    def is_in_workspace(self) -> bool:
        return "{workspace_id}" in self.path and "/admin/" not in self.path

    @property
    def parameters(self) -> list[str]:
        return [piece[1:-1] for piece in self.path.split("/") if piece.startswith("{")]

    @property
    def success(self) -> set[int]:
        usual = {int(status) for status in self.about["responses"] if status.startswith("2")}
        return {OTHER_ANSWERS[self.id]} if self.id in OTHER_ANSWERS else usual

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


def read_operations() -> list[Operation]:
    document = create_api(cast("Any", None)).openapi()
    return [
        Operation(method, path, item[method])
        for path, item in document["paths"].items()
        for method in METHODS
        if method in item
    ]


OPERATIONS = read_operations()
TAGS = sorted({operation.about["tags"][0] for operation in OPERATIONS})

# A valid body of every operation that takes one.
BODIES: dict[str, Callable[["World"], Any]] = {
    "create_link": lambda _: {"original_url": URL},
    "create_link_in_workspace": lambda _: {"original_url": URL},
    "create_link_from_text": lambda _: URL,
    "edit_link": lambda _: {"title": "Another title"},
    "edit_link_in_workspace": lambda _: {"title": "Another title"},
    "bulk_links": lambda _: {"items": [{"act": "create", "link": {"original_url": URL}}]},
    "bulk_links_in_workspace": lambda _: {
        "items": [{"act": "create", "link": {"original_url": URL}}]
    },
    "import_links": lambda _: f"original_url\n{URL}\n",
    "import_links_in_workspace": lambda _: f"original_url\n{URL}\n",
    "claim_links": lambda _: {"items": [{"original_url": URL}]},
    "rename_tag": lambda _: {"tag": "blue"},
    "rename_tag_in_workspace": lambda _: {"tag": "blue"},
    "create_public_url": lambda _: {"originalUrl": URL},
    "create_url": lambda _: {"originalUrl": URL},
    "sync_urls": lambda _: {"urls": [URL]},
    "register_url_user": lambda _: {"email": "new@example.com", "password": PASSWORD},
    "login_url_user": lambda world: {"email": world.colleague.email, "password": PASSWORD},
    "register": lambda _: {"email": "new@example.com", "password": PASSWORD},
    "sign_in": lambda world: {"email": world.colleague.email, "password": PASSWORD},
    "change_password": lambda _: {"old_password": PASSWORD, "new_password": NEW_PASSWORD},
    "reset_password": lambda world: {"token": world.reset_token, "password": NEW_PASSWORD},
    "set_up": lambda world: {
        "token": world.setup_token,
        "email": "new@example.com",
        "password": PASSWORD,
    },
    "delete_me": lambda _: {"password": PASSWORD},
    "create_key": lambda _: {"name": "A new key", "scopes": ["links:read"]},
    "create_workspace": lambda _: {"name": "New", "slug": "new"},
    "edit_workspace": lambda _: {"name": "Another name"},
    "edit_member": lambda _: {"role": "viewer"},
    "create_invitation": lambda _: {"role": "owner"},
    "accept_invitation": lambda world: {"token": world.invitation_token},
    "transfer_workspace": lambda world: {"account_id": world.colleague.id},
    "add_domain": lambda _: {"host": "new.example.com"},
    "edit_account": lambda _: {"is_disabled": True},
    "set_workspace_quota": lambda _: {"links_per_month": 5},
    "set_account_quota": lambda _: {"links_per_month": 5},
    "create_report": lambda world: {"short_url": world.reported.short_code, "category": "spam"},
    "decide_report": lambda _: {"state": "upheld"},
}
LIVE = [operation.id for operation in OPERATIONS if operation.path.endswith("/stats/live")]
QUERIES: dict[str, dict[str, str]] = {
    **{name: {"seconds": "0"} for name in LIVE},  # else they would go on
    "import_links": {"format": "csv"},
    "import_links_in_workspace": {"format": "csv"},
    "get_availability": {"code": "summer"},
    "get_availability_in_workspace": {"code": "summer"},
    "is_domain_allowed": {"domain": VERIFIED_HOST},
}


@dataclass(frozen=True, kw_only=True)
class Principal:
    """`account_id` None: the credential opens nothing, or there is none."""

    name: str
    headers: Mapping[str, str]
    account_id: int | None = None
    role: Role | None = None
    permissions: frozenset[Permission] = frozenset()
    is_session: bool = False
    is_for_team: bool = True
    is_for_one_workspace: bool = False


A_PERSONS = frozenset(Permission) - {Permission.ADMIN}
LOOK = {Permission.LINKS_READ, Permission.STATS_READ}


class World:
    """An owner's workspace and links with everything that belongs to them, and everybody who may
    ask for it. `reset` puts all of it back."""

    owner: Account
    colleague: Account
    team: Workspace
    reported: Link
    setup_token: str
    reset_token: str
    invitation_token: str
    values: Mapping[str, Any]
    admin_values: Mapping[str, Any]
    team_values: Mapping[str, Any]
    principals: list[Principal]

    def __init__(self, kurz: Kurz, people: People, client: httpx2.AsyncClient) -> None:
        self.kurz = kurz
        self.people = people
        self.client = client

    async def fill(self, dns: DnsServer) -> None:
        people, kurz = self.people, self.kurz
        owner, colleague = await people.add(), await people.add()
        self.owner, self.colleague = owner.account, colleague.account
        self.team = await people.workspace(owner, "team")
        await people.join(self.team, colleague, Role.EDITOR)
        # Neither the owner nor the administrator is the last one of their kind.
        await people.join(self.team, await people.add(), Role.OWNER)
        await people.add(is_admin=True)
        personal = await self._link(0)
        shared = await self._link(self.team.id)
        self.reported = await self._link(0, "reported")
        report_id = await self._report(self.reported)
        _, key = await kurz.keys.create(owner.id, "a key", frozenset({Permission.LINKS_READ}))
        self.invitation_token, invitation = await kurz.passes.invite(
            owner.id, self.team.id, Role.VIEWER
        )
        _, account_invitation = await kurz.passes.invite(None)
        self.setup_token, _ = await kurz.passes.make_setup()
        self.reset_token, _ = await kurz.passes.make_reset(colleague.id, None)
        self.in_trash = {
            link_id: await self._trashed_link(space)
            for link_id, space in (
                (kurz.links.public_id(personal), 0),
                (kurz.links.public_id(shared), self.team.id),
            )
        }
        self.values = {
            "workspace_id": self.team.id,
            "link_id": kurz.links.public_id(personal),
            "account_id": colleague.id,
            "key_id": key.id,
            "host": PENDING_HOST,
            "tag": TAG,
            "report_id": report_id,
        }
        self.team_values = {
            "link_id": kurz.links.public_id(shared),
            "invitation_id": invitation.id,
        }
        self.admin_values = {"invitation_id": account_invitation.id}
        self.principals = await self._principals(owner)
        await self._domains(owner, dns)
        self._saved = await kurz.database.read(read_tables)
        self._baseline = comparable(self._saved)

    async def reset(self) -> None:
        await self.kurz.database.write(write_tables, self._saved)
        self.kurz.teams._known.clear()

    async def is_unchanged(self) -> bool:
        return comparable(await self.kurz.database.read(read_tables)) == self._baseline

    def path_of(self, operation: Operation, **others: int) -> str:
        values = dict(self.values)
        if operation.is_in_workspace:
            values |= self.team_values
        if "/admin/" in operation.path:
            values |= self.admin_values
        unknown = set(operation.parameters) - values.keys()
        assert not unknown, f"{operation} has parameters that `World` knows no value for: {unknown}"
        values |= others
        if "/trash/" in operation.path:  # where another link of the same place is
            values["link_id"] = self.in_trash.get(values["link_id"], values["link_id"])
        return operation.path.format(**values)

    async def send(
        self, operation: Operation, headers: Mapping[str, str], path: str | None = None
    ) -> httpx2.Response:
        body = BODIES[operation.id](self) if operation.id in BODIES else None
        options: dict[str, Any] = {}
        if isinstance(body, str):
            options["content"] = body
        elif body is not None:
            options["json"] = body
        return await self.client.request(
            operation.method,
            path or self.path_of(operation),
            params=QUERIES.get(operation.id),
            headers=dict(headers),
            **options,
        )

    async def _report(self, link: Link) -> int:
        abuse = self.kurz.abuse
        await abuse.take(link, f"{ORIGIN}/{link.short_code}", Complaint(Category.SPAM), "nobody")
        [report] = await abuse.store.list(State.OPEN, limit=1)
        return report.id

    async def _trashed_link(self, workspace_id: int) -> int:
        public_id = self.kurz.links.public_id(await self._link(workspace_id, "thrown-away"))
        await self.kurz.links.delete(public_id, Scope())
        return public_id

    async def _link(self, workspace_id: int, page: str = "") -> Link:
        draft = Draft(
            original_url=f"https://example.com/{page}",
            workspace_id=workspace_id,
            owner_id=self.owner.id,
            tags=(TAG,),
        )
        return (await self.kurz.links.create(draft)).link

    async def _domains(self, owner: Person, dns: DnsServer) -> None:
        """One that can be proved, and one that was."""
        path = f"/api/v1/workspaces/{self.team.id}/domains"
        for host in (PENDING_HOST, VERIFIED_HOST):
            added = await self.client.post(path, json={"host": host}, headers=owner.headers)
            assert added.status_code == 201, added.text
            dns.put(added.json()["record_name"], added.json()["record_value"])
        proved = await self.client.post(f"{path}/{VERIFIED_HOST}/verify", headers=owner.headers)
        assert proved.status_code == 200, proved.text
        self.kurz.domains._sites = None

    async def _principals(self, owner: Person) -> list[Principal]:
        people = self.people
        editor, viewer = await people.add(), await people.add()
        await people.join(self.team, editor, Role.EDITOR)
        await people.join(self.team, viewer, Role.VIEWER)
        removed = await people.add()
        await people.join(self.team, removed, Role.OWNER)
        await self.kurz.teams.remove(self.team.id, removed.id)
        admin = await people.add(is_admin=True)
        return [
            *await self._unknown(owner),
            _session("stranger", await people.add(), None),
            _session("removed owner", removed, None),
            _session("viewer", viewer, Role.VIEWER),
            _session("editor", editor, Role.EDITOR),
            _session("owner", owner, Role.OWNER),
            replace(_session("admin", admin, None), permissions=frozenset(Permission)),
            *await self._keys(owner, editor, viewer, admin, removed),
        ]

    async def _unknown(self, owner: Person) -> list[Principal]:
        """Nobody, and everybody whose credential opens nothing."""
        kurz, people = self.kurz, self.people
        now = kurz.clock.now()
        disabled = await people.add()
        await people.join(self.team, disabled, Role.OWNER)
        disabled_key = await people.key(disabled, *Permission)
        disabled_account = await kurz.accounts.set_disabled(disabled.id, is_disabled=True)
        signed_out = people.sign_in(owner.account).token
        claims = people.tokens.read(signed_out)
        await kurz.accounts.sign_out(claims.token_id, claims.expires_at)
        revoked, key = await kurz.keys.create(owner.id, "revoked", frozenset(Permission))
        await kurz.keys.revoke(key.id, owner.id)
        ring = Keyring(keep_secret(kurz.settings))
        yesterday = FrozenClock(now - timedelta(hours=24, seconds=31))  # 30 are forgiven
        expired, _ = Tokens(ring.key("tokens"), yesterday).issue(owner.id, owner.account.epoch)
        forged, _ = Tokens(secrets.token_bytes(32), kurz.clock).issue(owner.id, owner.account.epoch)
        wrong_use, _ = Tokens(ring.key("receipts"), kurz.clock).issue(owner.id, owner.account.epoch)
        outdated, _ = people.tokens.issue(owner.id, owner.account.epoch - 1)
        gone, _ = people.tokens.issue(4_711, 0)
        tokens = {
            "wrong token": "wrong",
            "expired token": expired,
            "token signed by another key": forged,
            "token signed by a key for something else": wrong_use,
            "token from before the last password": outdated,
            "token of nobody": gone,
            "signed-out token": signed_out,
            "disabled owner": people.sign_in(disabled_account).token,
            "key of a disabled owner": disabled_key,
            "revoked key": revoked,
            "key with another secret": f"{revoked[:-3]}AAA",
        }
        found = [Principal(name=name, headers=_bearer(text)) for name, text in tokens.items()]
        return [Principal(name="nobody", headers={}), *found]

    async def _keys(
        self, owner: Person, editor: Person, viewer: Person, admin: Person, removed: Person
    ) -> list[Principal]:
        people = self.people
        other = await people.workspace(owner, "other")
        everything = frozenset(Permission)
        found = []

        async def add(
            name: str,
            person: Person,
            role: Role | None,
            scopes: frozenset[Permission] = everything,
            workspace: Workspace | None = None,
        ) -> None:
            workspace_id = None if workspace is None else workspace.id
            text = await people.key(person, *scopes, workspace_id=workspace_id)
            may = scopes if person is admin else scopes - {Permission.ADMIN}
            if Permission.LINKS_WRITE in may:
                may |= {Permission.LINKS_CREATE}
            found.append(
                Principal(
                    name=name,
                    headers={"x-api-key": text},
                    account_id=person.id,
                    role=role,
                    permissions=may,
                    is_for_team=workspace in (None, self.team),
                    is_for_one_workspace=workspace is not None,
                )
            )

        for scope in Permission:
            await add(f"owner's key for {scope}", owner, Role.OWNER, frozenset({scope}))
        await add("owner's key for everything", owner, Role.OWNER)
        await add("owner's key for this workspace", owner, Role.OWNER, workspace=self.team)
        await add("owner's key for another workspace", owner, Role.OWNER, workspace=other)
        await add("editor's key for everything", editor, Role.EDITOR)
        await add("viewer's key for everything", viewer, Role.VIEWER)
        await add("removed owner's key for this workspace", removed, None, workspace=self.team)
        await add("admin's key for admin", admin, None, frozenset({Permission.ADMIN}))
        await add("admin's key without admin", admin, None, A_PERSONS)
        await add("admin's key for one workspace", admin, None, workspace=self.team)
        return found


def _session(name: str, person: Person, role: Role | None) -> Principal:
    return Principal(
        name=name,
        headers=person.headers,
        account_id=person.id,
        role=role,
        permissions=A_PERSONS,
        is_session=True,
    )


def _bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


# What a server does for itself, and how far the search index and the count of links are.
OWN_TABLES = {"installation", "counters", "leases", "limits", "search_position", "count_position"}
TABLES = [table for table in schema.metadata.sorted_tables if table.name not in OWN_TABLES]
Rows = dict[str, list[dict[str, Any]]]


def read_tables(connection: sa.Connection) -> Rows:
    return {
        table.name: [dict(row) for row in connection.execute(sa.select(table)).mappings()]
        for table in TABLES
    }


def write_tables(connection: sa.Connection, saved: Rows) -> None:
    for table in TABLES:
        connection.execute(sa.delete(table))
        if rows := saved[table.name]:
            connection.execute(sa.insert(table), rows)


def comparable(rows: Rows) -> dict[str, list[str]]:
    """Without the one thing that a refused request may leave: when a key was last tried."""
    return {
        name: sorted(repr({k: v for k, v in row.items() if k != "last_used_at"}) for row in found)
        for name, found in rows.items()
    }


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
