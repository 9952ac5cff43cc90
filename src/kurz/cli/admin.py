"""`kurz admin …`: people, keys and workspaces, for the operator of the installation."""

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import bans, imports, output, reports, values
from kurz.cli.compact import compact
from kurz.cli.counter import counter
from kurz.cli.lists import lists
from kurz.cli.quotas import quota, workspace_quota
from kurz.cli.reaper import reaper
from kurz.cli.session import (
    AsJson,
    DataDir,
    Email,
    edit_account,
    note,
    shown_dashboard_url,
    with_kurz,
)
from kurz.cli.workspace_lookup import get_workspace
from kurz.people.access import Permission
from kurz.people.errors import (
    AdministratorExists,
    MemberNotFound,
    PasswordRefused,
    PermissionMissing,
)

if TYPE_CHECKING:
    from kurz.people.accounts import Account
    from kurz.people.one_time_tokens import OneTimeToken
    from kurz.wiring.core import Kurz

PasswordFile = Annotated[
    Path | None,
    typer.Option(help="File to read the password from; - is standard input. Prompts if omitted."),
]

admin = typer.Typer(
    name="admin", help="Manage users, keys, workspaces, reports, bans and the reaper."
)
key = typer.Typer(name="key", help="Manage API keys.")
workspace = typer.Typer(name="workspace", help="Manage workspaces.")


@admin.command()
def create(
    email: Email,
    password_file: PasswordFile = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Create an administrator."""
    password = _password(password_file)

    async def work(kurz: "Kurz") -> "Account":
        await note(kurz, "create-admin", email=email)
        return await kurz.accounts.create_admin(email, password)

    account = with_kurz(data_dir, work)
    sentence = f"{account.email} is an administrator."
    output.print_result(_account(account), sentence, as_json=as_json)


@admin.command()
def setup_link(as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Print a one-time set-up link for the first administrator. It replaces earlier ones."""

    async def work(kurz: "Kurz") -> dict[str, Any]:
        if not await kurz.accounts.needs_set_up():
            raise AdministratorExists(
                "There is already an administrator. To add another one, run: kurz admin"
                " create EMAIL."
            )
        await note(kurz, "make-setup-link")
        return _link(kurz, "setup", *await kurz.one_time_tokens.make_setup())

    _print_link(with_kurz(data_dir, work), "the administrator", as_json=as_json)


@admin.command()
def promote(email: Email, data_dir: DataDir = None) -> None:
    """Make an existing user an administrator."""
    account = edit_account(email, data_dir, is_admin=True)
    typer.echo(f"{account.email} is now an administrator.")


@admin.command()
def demote(email: Email, data_dir: DataDir = None) -> None:
    """Remove a user's administrator role."""
    account = edit_account(email, data_dir, is_admin=False)
    typer.echo(f"{account.email} is no longer an administrator.")


@admin.command()
def reset_password(email: Email, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Print a one-time link to set a new password."""

    async def work(kurz: "Kurz") -> tuple[dict[str, Any], str]:
        account = await kurz.accounts.get_by_email(email)
        await note(kurz, "make-reset-link", f"account {account.id}")
        made = await kurz.one_time_tokens.make_reset(account.id, None)
        return _link(kurz, "reset", *made), account.email

    _print_link(*with_kurz(data_dir, work), as_json=as_json)


@admin.command("list")
def list_accounts(as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List all accounts."""

    async def work(kurz: "Kurz") -> tuple[list[dict[str, Any]], datetime]:
        return [_account(item) for item in await kurz.accounts.list()], kurz.clock.now()

    accounts, now = with_kurz(data_dir, work)
    if as_json:
        output.print_json({"accounts": accounts})
        return
    rows = [
        (
            "disabled" if item["disabled_at"] else "admin" if item["is_admin"] else "user",
            output.printable(item["email"]),
            output.relative(item["created_at"], now),
            output.relative(item["signed_in_at"], now) if item["signed_in_at"] else "never",
            "large" if item["may_import_many"] else "default",
        )
        for item in accounts
    ]
    output.print_counted(("role", "e-mail", "created", "last sign-in", "imports"), rows, "account")


@admin.command()
def disable(email: Email, data_dir: DataDir = None) -> None:
    """Disable an account. Its tokens and keys stop working within 5 seconds."""
    account = edit_account(email, data_dir, is_disabled=True)
    typer.echo(f"{account.email} is now disabled.")


@admin.command()
def enable(email: Email, data_dir: DataDir = None) -> None:
    """Enable a disabled account."""
    account = edit_account(email, data_dir, is_disabled=False)
    typer.echo(f"{account.email} is now enabled.")


@admin.command()
def invite(as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Print a one-time link to create an account."""

    async def work(kurz: "Kurz") -> dict[str, Any]:
        await note(kurz, "invite")
        return _link(kurz, "join", *await kurz.one_time_tokens.invite(None))

    _print_link(with_kurz(data_dir, work), "one person", as_json=as_json)


@key.command("create")
def create_key(
    email: Email,
    name: Annotated[str, typer.Option(help="What the key is for.")],
    scope: Annotated[list[Permission], typer.Option(help="A permission of the key; repeatable.")],
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", "-w", help="Limit the key to this workspace (its slug)."),
    ] = None,
    expires_at: Annotated[
        datetime | None,
        typer.Option(parser=values.instant, metavar="TIME", help="When the key expires."),
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Create an API key for a user and print it. It is shown once."""

    async def work(kurz: "Kurz") -> str:
        account = await kurz.accounts.get_by_email(email)
        if Permission.ADMIN in scope and not account.is_admin:
            raise PermissionMissing(f"{account.email} is not an administrator.")
        only = None if workspace is None else (await get_workspace(kurz, workspace)).id
        if only and await kurz.workspaces.find_membership(only, account.id) is None:
            raise MemberNotFound(f"{account.email} is not a member of this workspace.")
        scopes = sorted(scope)
        await note(kurz, "create-key", f"account {account.id}", name=name, scopes=scopes)
        text, _ = await kurz.keys.create(
            account.id, name, frozenset(scope), workspace_id=only, expires_at=expires_at
        )
        return text

    text = with_kurz(data_dir, work)
    hint = "Store the key now: it is not shown again."
    output.print_result({"key": text}, text, hint, as_json=as_json)


@key.command("list")
def list_keys(email: Email, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List a user's API keys."""

    async def work(kurz: "Kurz") -> tuple[list[dict[str, Any]], datetime]:
        account = await kurz.accounts.get_by_email(email)
        return [item.view() for item in await kurz.keys.list(account.id)], kurz.clock.now()

    keys, now = with_kurz(data_dir, work)
    if as_json:
        output.print_json({"keys": keys})
        return
    rows = [
        (
            item["prefix"],
            output.printable(item["name"]),
            ", ".join(item["scopes"]),
            output.relative(item["expires_at"], now) if item["expires_at"] else "never",
            output.relative(item["last_used_at"], now) if item["last_used_at"] else "never",
        )
        for item in keys
    ]
    output.print_counted(("key", "name", "scopes", "expires", "last used"), rows, "key")


@key.command("revoke")
def revoke_key(
    email: Email,
    prefix: Annotated[str, typer.Argument(help="The start of the key, as shown by `list`.")],
    data_dir: DataDir = None,
) -> None:
    """Revoke an API key. It stops working within 5 seconds."""

    async def work(kurz: "Kurz") -> None:
        from kurz.people.errors import KeyNotFound

        account = await kurz.accounts.get_by_email(email)
        for item in await kurz.keys.list(account.id):
            if f"kurz_{item.prefix}" == prefix:
                await note(kurz, "revoke-key", f"account {account.id}", key=prefix)
                await kurz.keys.revoke(item.id, account.id)
                return
        raise KeyNotFound(
            f"{account.email} has no key that starts with “{prefix}”. See: kurz admin key"
            f" list {account.email}."
        )

    with_kurz(data_dir, work)
    typer.echo(f"{prefix} was revoked.")


@workspace.command("create")
def create_workspace(
    slug: Annotated[str, typer.Argument(help="Its links use /@slug/.")],
    owner: Annotated[str, typer.Option(help="E-mail address of the owner's account.")],
    name: Annotated[str | None, typer.Option(help="Display name; defaults to the slug.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Create a workspace."""

    async def work(kurz: "Kurz") -> dict[str, Any]:
        account = await kurz.accounts.get_by_email(owner)
        await note(kurz, "create-workspace", f"account {account.id}", slug=slug)
        made = await kurz.teams.create(account.id, name or slug, slug)
        return output.fields_of(made, "id", "name", "slug")

    made = with_kurz(data_dir, work)
    sentence = f"Created workspace {made['id']}, {made['name']}. Its links use /@{slug}/."
    output.print_result(made, sentence, as_json=as_json)


@workspace.command("list")
def list_workspaces(as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List all workspaces."""

    async def work(kurz: "Kurz") -> tuple[list[dict[str, Any]], datetime]:
        names = "id", "name", "slug", "strategy", "created_at", "deleted_at"
        found = [output.fields_of(item, *names) for item in await kurz.workspaces.list_all()]
        return found, kurz.clock.now()

    workspaces, now = with_kurz(data_dir, work)
    if as_json:
        output.print_json({"workspaces": workspaces})
        return
    rows = [
        (
            str(item["id"]),
            f"/@{item['slug']}/",
            item["strategy"],
            output.relative(item["created_at"], now),
            output.printable(item["name"]) + (" (deleted)" if item["deleted_at"] else ""),
        )
        for item in workspaces
    ]
    output.print_counted(("ID", "links", "codes", "created", "name"), rows, "workspace")


def _password(file: Path | None) -> str:
    if file is None:
        if not sys.stdin.isatty():
            raise PasswordRefused(
                "There is no terminal to ask for the password. Use --password-file."
            )
        answer: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
        return answer
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PasswordRefused(f"The password cannot be read from {file}: {error}.") from None
    return text.rstrip("\r\n")


def _link(kurz: "Kurz", page: str, token: str, item: "OneTimeToken") -> dict[str, Any]:
    url = f"{shown_dashboard_url(kurz.settings)}/app/{page}#{token}"
    return {"url": url, "expires_at": item.expires_at}


def _print_link(link: dict[str, Any], whom: str, *, as_json: bool) -> None:
    hint = f"For {whom}. Works once, until {link['expires_at']:%Y-%m-%d %H:%M} UTC."
    output.print_result(link, link["url"], hint, as_json=as_json)


def _account(account: "Account") -> dict[str, Any]:
    instants = "created_at", "signed_in_at", "disabled_at"
    return output.fields_of(account, "id", "email", "is_admin", *instants, "may_import_many")


for command in (quota, reaper, lists, counter, compact):
    admin.command()(command)
workspace.command("quota")(workspace_quota)
for group in (
    bans.commands,
    imports.commands,
    key,
    workspace,
    reports.reports,
    bans.ban,
    bans.unban,
):
    admin.add_typer(group)
