"""`kurz admin ban …`, `unban …`, `bans` and `audit`: what is banned, and who did what."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import output
from kurz.cli.links import EVERYTHING, Reference, command, find_link
from kurz.cli.session import AsJson, DataDir, Email, with_kurz
from kurz.cli.workspace_lookup import address_of
from kurz.links.model import Status
from kurz.safety.audit import OPERATOR
from kurz.safety.bans import BanKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kurz.links.model import Link
    from kurz.safety.audit import AuditEntry
    from kurz.safety.bans import Ban
    from kurz.wiring.core import Kurz

Host = Annotated[str, typer.Argument(help="A host such as example.com, or a URL on it.")]
Reason = Annotated[str | None, typer.Option(help="Reason, for administrators: one line of text.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of entries.")]

ban = typer.Typer(name="ban", help="Ban a link, a host with its subdomains, or a user.")
commands = typer.Typer()
unban = typer.Typer(name="unban", help="Remove a ban.")


@ban.command("link")
def ban_link(
    link: Reference, reason: Reason = None, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """Ban a link. It answers 410 everywhere within 5 seconds."""

    async def work(kurz: "Kurz") -> str:
        found = await find_link(kurz, link)
        await kurz.bans.ban_link(found, reason, OPERATOR)
        return await address_of(kurz, found)

    address = with_kurz(data_dir, work)
    shown = {"short_url": address, "is_banned": True}
    hint = "Undo: " + command(data_dir, "admin", "unban", "link", link)
    output.print_result(shown, f"{address} is banned.", hint, as_json=as_json)


@unban.command("link")
def unban_link(link: Reference, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Unban a link and restore its previous state."""

    async def work(kurz: "Kurz") -> tuple[str, bool, "Link | None"]:
        found = await find_link(kurz, link)
        was_banned = await kurz.bans.unban_link(found, OPERATOR)
        now = await kurz.store.find(found.id, EVERYTHING)
        return await address_of(kurz, found), was_banned, now

    address, was_banned, now = with_kurz(data_dir, work)
    is_banned = now is not None and now.status is Status.BANNED
    is_in_trash = now is not None and now.status is Status.DELETED
    if as_json:
        shown = {"short_url": address, "was_banned": was_banned, "is_banned": is_banned}
        output.print_json(shown | {"is_in_trash": is_in_trash})
    elif is_banned:
        typer.echo(
            f"{address} stays banned because its owner is banned. It is restored when the"
            " owner is unbanned."
        )
    elif was_banned and is_in_trash:
        typer.echo(f"{address} is back in the trash. Its time in the trash starts over.")
    else:
        typer.echo(
            f"{address} is no longer banned." if was_banned else f"{address} was not banned."
        )


@ban.command("host")
def ban_host(
    host: Host, reason: Reason = None, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """Ban a host and its subdomains as destinations."""

    async def work(kurz: "Kurz") -> "Ban":
        return await kurz.bans.ban_host(host, reason, OPERATOR)

    made = with_kurz(data_dir, work)
    sentence = f"{made.subject} and its subdomains are banned."
    hint = "New links to it are refused within 5 seconds. `kurz serve` bans the existing ones."
    output.print_result(_view(made), sentence, hint, as_json=as_json)


@unban.command("host")
def unban_host(host: Host, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Allow links to a host again."""

    async def work(kurz: "Kurz") -> bool:
        return await kurz.bans.unban_host(host, OPERATOR)

    was_banned = with_kurz(data_dir, work)
    sentence, hint = f"{host} was not banned.", None
    if was_banned:
        sentence = f"{host} is no longer banned."
        hint = "`kurz serve` restores its links, except those on a blocklist."
    shown = {"host": host, "was_banned": was_banned}
    output.print_result(shown, sentence, hint, as_json=as_json)


@ban.command("person")
def ban_person(
    email: Email, reason: Reason = None, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """Disable a user's account and ban all their links."""

    async def work(kurz: "Kurz") -> "tuple[Ban, int]":
        account = await kurz.accounts.get_by_email(email)
        made = await kurz.bans.ban_account(account.id, reason, OPERATOR)
        return made, await kurz.bans.begin(made)

    made, links = with_kurz(data_dir, work, doing="Banning links")
    sentence = f"{email} is banned, along with {links:,} link{'' if links == 1 else 's'}."
    hint = "Undo: " + command(data_dir, "admin", "unban", "person", email)
    output.print_result(_view(made) | {"links": links}, sentence, hint, as_json=as_json)


@unban.command("person")
def unban_person(email: Email, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Enable a user's account again and restore their links."""

    async def work(kurz: "Kurz") -> tuple[bool, int]:
        account = await kurz.accounts.get_by_email(email)
        was_banned = await kurz.bans.unban_account(account.id, OPERATOR)
        return was_banned, await kurz.bans.undo(account.id) if was_banned else 0

    was_banned, links = with_kurz(data_dir, work, doing="Restoring links")
    sentence = f"{email} was not banned."
    if was_banned:
        back = "1 link was" if links == 1 else f"{links:,} links were"
        sentence = f"{email} is no longer banned. {back} restored."
    shown = {"email": email, "was_banned": was_banned, "links": links}
    output.print_result(shown, sentence, as_json=as_json)


@commands.command("bans")
def list_bans(limit: Limit = 50, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List bans: hosts, users and the newest banned links."""

    async def work(kurz: "Kurz") -> tuple[list[dict[str, Any]], list[dict[str, Any]], datetime]:
        found = [_view(item) for kind in BanKind for item in await kurz.bans.list(kind)]
        for item in found:
            if item["kind"] == BanKind.ACCOUNT:
                account = await kurz.account_store.find(int(item["subject"]))
                item["email"] = None if account is None else account.email
        links = [
            {"link": await _address(kurz, item.link_id)}
            | output.fields_of(item, "cause", "subject", "reason", "banned_at")
            for item in await kurz.bans.list_links(limit=limit)
        ]
        return found, links, kurz.clock.now()

    bans, links, now = with_kurz(data_dir, work)
    if as_json:
        output.print_json({"bans": bans, "links": links})
        return
    rows = [
        (
            "person" if item["kind"] == BanKind.ACCOUNT else "host",
            output.relative(item["banned_at"], now),
            item.get("email") or item["subject"],
            item["reason"] or "",
        )
        for item in bans
    ]
    rows += [
        (
            f"link, by {item['cause']}",
            output.relative(item["banned_at"], now),
            item["link"],
            item["reason"] or "",
        )
        for item in links
    ]
    if not rows:
        output.print_hint("Nothing is banned. See: " + command(data_dir, "admin", "ban", "--help"))
        return
    output.print_counted(("type", "since", "banned", "reason"), rows, "ban")


@commands.command("audit")
def list_audit(
    limit: Limit = 50,
    before: Annotated[
        int | None, typer.Option(min=1, help="Show entries before this number.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List the audit log. It has the actions of administrators and the operator, newest first."""

    async def work(kurz: "Kurz") -> "tuple[Sequence[AuditEntry], dict[int, str], datetime]":
        found = await kurz.audit.list(before=before, limit=limit)
        ids = {entry.account_id for entry in found if entry.account_id is not None}
        known = [account for it in ids if (account := await kurz.account_store.find(it))]
        return found, {account.id: account.email for account in known}, kurz.clock.now()

    entries, emails, now = with_kurz(data_dir, work)
    if as_json:
        fields = ("id", "done_at", "account_id", "via", "action", "subject", "details")
        output.print_json({"entries": [output.fields_of(entry, *fields) for entry in entries]})
        return
    if not entries:
        output.print_hint("The audit log is empty.")
        return
    rows = [
        (
            str(entry.id),
            output.relative(entry.done_at, now),
            _who(entry, emails),
            entry.action,
            " ".join(filter(None, (entry.subject, _shown(entry)))),
        )
        for entry in entries
    ]
    output.print_table(("number", "when", "who", "action", "subject"), rows)
    if len(entries) == limit:
        more = ["--limit", str(limit), "--before", str(entries[-1].id)]
        output.print_hint("More: " + command(data_dir, "admin", "audit", *more))


def _who(entry: "AuditEntry", emails: dict[int, str]) -> str:
    if entry.account_id is None:
        return "operator" if entry.via == "cli" else "kurz"
    return emails.get(entry.account_id, f"account {entry.account_id}")


def _shown(entry: "AuditEntry") -> str:
    pairs = [f"{name}: {value}" for name, value in entry.details.items()]
    return f"({', '.join(pairs)})" if pairs else ""


async def _address(kurz: "Kurz", link_id: int) -> str:
    from kurz.links.model import Scope

    link = await kurz.store.find(link_id, Scope())
    return f"link {link_id} (deleted)" if link is None else await address_of(kurz, link)


def _view(item: "Ban") -> dict[str, Any]:
    names = "kind", "subject", "reason", "banned_by", "banned_at", "is_pending"
    return output.fields_of(item, *names)
