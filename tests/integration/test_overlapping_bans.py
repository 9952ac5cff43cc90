"""Bans for more than one reason, and bans that are taken back while they are carried out."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.links.model import Scope, Status
from kurz.people.errors import AdministratorMissing
from kurz.safety.audit import OPERATOR
from kurz.safety.banning import SETTLED
from kurz.safety.bans import BanCause, BanKind, LinkBan
from kurz.settings.model import Settings
from support.engines import without_redis

engine = without_redis  # which has no part in it


@pytest.fixture
def blocklist(tmp_path: Path) -> Path:
    path = tmp_path / "block.txt"
    path.write_text("bad.example\n")
    return path


@pytest.fixture
def settings(settings: Settings, blocklist: Path) -> Settings:
    return replace(settings, blocklists=(blocklist,))


def lose(kurz, blocklist: Path) -> None:
    blocklist.unlink()
    kurz.screen.provider.compile()


@pytest.fixture
async def person(people):
    return await people.add()


async def cause_of(kurz, link) -> BanCause | None:
    ban = await kurz.bans._of_links.find(link.id)
    return None if ban is None else ban.cause


async def status_of(kurz, link) -> Status:
    return Status((await kurz.store.find(link.id, Scope())).status)


async def test_whoever_carries_a_ban_out_stops_when_it_is_taken_back(kurz, person, add_link):
    first, second = [await add_link(owner_id=person.id) for _ in range(2)]
    ban = await kurz.bans.ban_account(person.id, None, OPERATOR)
    assert await kurz.bans.begin(ban) == 2
    await kurz.bans.unban_account(person.id, OPERATOR)
    assert await kurz.bans.undo(person.id) == 2
    assert await kurz.bans.begin(ban) == 0  # it had begun before, and is still at it
    assert [await status_of(kurz, it) for it in (first, second)] == [Status.ACTIVE] * 2
    await kurz.bans.run()
    assert await kurz.bans._store.pending() == []
    assert await kurz.bans.begin(ban) == 0


async def test_whoever_undoes_a_ban_stops_when_there_is_another(kurz, person, add_link, clock):
    link = await add_link(owner_id=person.id)
    await kurz.bans.begin(await kurz.bans.ban_account(person.id, None, OPERATOR))
    await kurz.bans.unban_account(person.id, OPERATOR)
    [lifted] = await kurz.bans._store.pending()
    clock.advance(seconds=1)
    await kurz.bans.ban_account(person.id, "again", OPERATOR)
    await kurz.bans._of_links.unban([link.id], [BanCause.ACCOUNT], clock.now())  # of the one before
    assert await status_of(kurz, link) is Status.BANNED
    await kurz.bans._store.confirm(lifted)
    assert await kurz.bans._store.find(BanKind.ACCOUNT, str(person.id)) is not None


async def test_what_is_banned_for_two_reasons_is_so_until_both_are_gone(
    kurz, client, person, add_link
):
    link = await add_link(custom_code="bad", owner_id=person.id, status=Status.PAUSED)
    imported = await add_link(owner_id=person.id, status=Status.BANNED)
    await kurz.bans.ban_link(link, None, OPERATOR)
    await kurz.bans.begin(await kurz.bans.ban_account(person.id, "spammer", OPERATOR))
    for it in link, imported:
        assert await kurz.bans.unban_link(it, OPERATOR)
        assert await cause_of(kurz, it) is BanCause.ACCOUNT
    assert (await kurz.bans._of_links.find(link.id)).reason == "spammer"
    assert (await client.get("/bad")).status_code == 410
    await kurz.bans.unban_account(person.id, OPERATOR)
    await kurz.bans.run()
    assert await status_of(kurz, link) is Status.PAUSED
    assert await status_of(kurz, imported) is Status.ACTIVE


async def test_a_link_does_not_wait_for_an_owner_who_has_gone(kurz, people, person, add_link):
    team = await people.workspace(await people.add(), "team")
    link = await add_link(owner_id=person.id, workspace_id=team.id)
    await kurz.bans.begin(await kurz.bans.ban_account(person.id, None, OPERATOR))
    assert await kurz.accounts.delete(person.id)
    assert await kurz.bans.unban_link(link, OPERATOR)
    assert await status_of(kurz, link) is Status.ACTIVE


async def test_an_administrators_ban_is_not_handed_over(kurz, person, add_link, clock):
    """It may be made while a person's links come back."""
    mine, others = [await add_link(owner_id=person.id) for _ in range(2)]
    await kurz.bans.begin(await kurz.bans.ban_account(person.id, None, OPERATOR))
    await kurz.bans.ban_link(mine, None, OPERATOR)
    subject = str(person.id)
    await kurz.bans._of_links.hand_over([mine.id, others.id], subject, BanCause.LIST)
    assert await cause_of(kurz, mine) is BanCause.ADMIN
    assert await cause_of(kurz, others) is BanCause.LIST
    host = LinkBan(link_id=others.id, cause=BanCause.HOST, subject="host.example")
    assert await kurz.bans._of_links.ban([host], clock.now()) == 1
    await kurz.bans._of_links.hand_over([others.id], subject, BanCause.LIST)
    assert await cause_of(kurz, others) is BanCause.HOST


async def test_visitors_are_warned_of_what_comes_back_while_lists_cannot_be_read(
    kurz, client, person, add_link, blocklist
):
    kurz.screen.provider.compile()
    link = await add_link(custom_code="one")
    await add_link(custom_code="two", owner_id=person.id)
    await kurz.bans.ban_link(link, None, OPERATOR)
    await kurz.bans.begin(await kurz.bans.ban_account(person.id, None, OPERATOR))
    lose(kurz, blocklist)
    await kurz.bans.unban_link(link, OPERATOR)
    await kurz.bans.unban_account(person.id, OPERATOR)
    await kurz.bans.run()
    for code in ("one", "two"):
        assert (await client.get(f"/{code}")).status_code == 403
    assert (kurz.screen.refused, kurz.screen.held) == (0, 0)  # nobody wanted a link


async def test_who_was_disabled_before_a_ban_is_so_after_it(kurz, people, clock):
    person, other = await people.add(), await people.add()
    await kurz.accounts.set_disabled(person.id, is_disabled=True)
    for account_id in (person.id, other.id):
        for reason in ("first", "second"):  # which is instead of the first
            await kurz.bans.ban_account(account_id, reason, OPERATOR)
        clock.advance(seconds=SETTLED.total_seconds())
        await kurz.bans.run()
        assert await kurz.bans.unban_account(account_id, OPERATOR)
    assert (await kurz.accounts.get(person.id)).disabled_at is not None
    assert (await kurz.accounts.get(other.id)).disabled_at is None


async def test_a_ban_can_be_taken_back_again_if_that_failed_half_way(kurz, person, monkeypatch):
    await kurz.bans.ban_account(person.id, None, OPERATOR)

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(kurz.accounts, "set_disabled", fail)
        with pytest.raises(RuntimeError):
            await kurz.bans.unban_account(person.id, OPERATOR)
    assert await kurz.bans.unban_account(person.id, OPERATOR)
    assert (await kurz.accounts.get(person.id)).disabled_at is None


async def test_a_ban_that_failed_half_way_has_done_nothing(kurz, people, person):
    """Else the next try would take for granted that the person was kept out before."""
    admin = await people.add(is_admin=True)
    with pytest.raises(AdministratorMissing):
        await kurz.bans.ban_account(admin.id, None, OPERATOR)
    assert await kurz.bans._store.list(BanKind.ACCOUNT) == []
    await kurz.database.write(_refuse_bans)
    with pytest.raises(sa.exc.DBAPIError):
        await kurz.bans.ban_account(person.id, None, OPERATOR)
    await kurz.database.write(_accept_bans)
    assert (await kurz.accounts.get(person.id)).disabled_at is None
    assert not (await kurz.bans.ban_account(person.id, None, OPERATOR)).was_disabled
    assert (await kurz.accounts.get(person.id)).disabled_at is not None
    assert await kurz.bans.unban_account(person.id, OPERATOR)
    assert (await kurz.accounts.get(person.id)).disabled_at is None


class Unasked:
    """Leases as they are while the store goes away."""

    async def ask(self, job: str) -> None:
        raise StoreUnavailable(job)


async def test_a_ban_that_is_given_again_remembers_what_was_before_the_first(kurz, person):
    leases, kurz.bans._leases = kurz.bans._leases, Unasked()
    with pytest.raises(StoreUnavailable):
        await kurz.bans.ban_account(person.id, None, OPERATOR)
    kurz.bans._leases = leases
    assert not (await kurz.bans.ban_account(person.id, None, OPERATOR)).was_disabled
    assert await kurz.bans.unban_account(person.id, OPERATOR)
    assert (await kurz.accounts.get(person.id)).disabled_at is None


def _refuse_bans(connection: sa.Connection) -> None:
    """The database itself does."""
    if connection.dialect.name == "sqlite":
        refuse = "CREATE TRIGGER nobody BEFORE INSERT ON bans BEGIN SELECT RAISE(ABORT, 'no'); END"
    else:
        refuse = "ALTER TABLE bans ADD CONSTRAINT nobody CHECK (kind <> 'account') NOT VALID"
    connection.execute(sa.text(refuse))


def _accept_bans(connection: sa.Connection) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    accept = "DROP TRIGGER nobody" if is_sqlite else "ALTER TABLE bans DROP CONSTRAINT nobody"
    connection.execute(sa.text(accept))
