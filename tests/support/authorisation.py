"""Everybody who calls the API, and a valid request for each of its operations."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx2

from kurz.links.model import Draft, Link, Scope
from kurz.people.access import Permission, Role
from kurz.people.accounts import Account
from kurz.people.keyring import Keyring, Keys
from kurz.people.tokens import Tokens
from kurz.people.workspaces import Workspace
from kurz.safety.abuse_reports import Category, Complaint, ReportState
from kurz.settings.secret import keep_secret
from kurz.wiring.core import Kurz
from servers.dns import DnsServer
from support.api_operations import QUERIES, VERIFIED_HOST, Operation
from support.clock import FrozenClock
from support.people import PASSWORD, People, Person
from support.tables import comparable, read_tables, write_tables

ORIGIN = "http://kurz.test"
URL = "https://example.com/a/new/page"
NEW_PASSWORD = "another horse, another battery"
TAG = "red"
PENDING_HOST = "go.example.com"

# A valid body of every operation that takes one.
BODIES: dict[str, Callable[["World"], Any]] = {
    "create_link": lambda _: {"original_url": URL},
    "create_link_in_workspace": lambda _: {"original_url": URL},
    "create_link_from_text": lambda _: URL,
    "edit_link": lambda _: {"title": "Another title"},
    "edit_link_in_workspace": lambda _: {"title": "Another title"},
    "bulk_links": lambda _: {"items": [{"action": "create", "link": {"original_url": URL}}]},
    "bulk_links_in_workspace": lambda _: {
        "items": [{"action": "create", "link": {"original_url": URL}}]
    },
    "export_selected_links": lambda _: {"ids": [1]},
    "export_selected_links_in_workspace": lambda _: {"ids": [1]},
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
        self.invitation_token, invitation = await kurz.one_time_tokens.invite(
            owner.id, self.team.id, Role.VIEWER
        )
        _, account_invitation = await kurz.one_time_tokens.invite(None)
        self.setup_token, _ = await kurz.one_time_tokens.make_setup()
        self.reset_token, _ = await kurz.one_time_tokens.make_reset(colleague.id, None)
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
        [report] = await abuse.store.list(ReportState.OPEN, limit=1)
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
        expired, _ = Tokens(ring.keys("tokens"), yesterday).issue(owner.id, owner.account.epoch)
        others = Tokens(Keys(secrets.token_bytes(32)), kurz.clock)
        forged, _ = others.issue(owner.id, owner.account.epoch)
        receipts = Tokens(ring.keys("receipts"), kurz.clock)
        wrong_use, _ = receipts.issue(owner.id, owner.account.epoch)
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
