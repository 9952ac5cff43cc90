"""Every write is heard, on both engines: by its own process before it returns, by others in a
moment, and without wake-ups within a tick."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from kurz.freshness.routes import Change
from kurz.links.model import Draft, Edit, Scope
from kurz.people.custom_domains import Domain
from kurz.people.errors import QuotaExceeded
from kurz.people.quotas import Allowance
from kurz.storage.engine.changes import SqlChangeLog
from kurz.storage.people.domains import SqlDomainStore
from kurz.wiring.core import Kurz, open_kurz
from support.feed import (
    NEVER_SECONDS,
    SOON_SECONDS,
    Listener,
    SilentWaker,
    another_process,
    written_since,
)
from support.links import create_link
from support.people import People
from support.transfer import run

ANY = Scope()

Write = Callable[[], Awaitable[Any]]


async def creating(kurz: Kurz, people: People) -> Write:
    return lambda: create_link(kurz, custom_code="new")


async def editing(kurz: Kurz, people: People) -> Write:
    public_id = kurz.links.public_id(await create_link(kurz))
    return lambda: kurz.links.edit(public_id, ANY, Edit(title="another"))


async def renaming(kurz: Kurz, people: People) -> Write:
    public_id = kurz.links.public_id(await create_link(kurz, custom_code="before"))
    return lambda: kurz.links.edit(public_id, ANY, Edit(custom_code="after"))


async def deleting(kurz: Kurz, people: People) -> Write:
    public_id = kurz.links.public_id(await create_link(kurz))
    return lambda: kurz.links.delete(public_id, ANY)


async def restoring(kurz: Kurz, people: People) -> Write:
    public_id = kurz.links.public_id(await create_link(kurz))
    await kurz.links.delete(public_id, ANY)
    return lambda: kurz.links.restore(public_id, ANY)


async def claiming(kurz: Kurz, people: People) -> Write:
    person = await people.add()
    made = await kurz.links.create(Draft(original_url="https://e.example/", is_anonymous=True))
    code, token = made.link.short_code, made.claim_token
    return lambda: kurz.links.claim(person.id, None, short_code=code, claim_token=token)


async def creating_many_at_once(kurz: Kurz, people: People) -> Write:
    return lambda: asyncio.gather(*(create_link(kurz, custom_code=f"many{n}") for n in range(30)))


async def importing(kurz: Kurz, people: People) -> Write:
    await create_link(kurz, custom_code="taken")
    rows = ["code,url", "taken,https://b.example/", *(f"i{n},https://e.example/" for n in range(9))]
    return lambda: run(kurz, "\n".join([*rows, ""]))


async def importing_up_to_a_quota(kurz: Kurz, people: People) -> Write:
    rows = ["code,url", *(f"i{n},https://e.example/" for n in range(9)), ""]
    quota = Allowance("workspace:1", 4, 202603)
    return lambda: run(kurz, "\n".join(rows), allowances=(quota,))


async def deleting_an_account(kurz: Kurz, people: People) -> Write:
    await people.add(is_admin=True)
    person = await people.add()
    await people.workspace(person, "alone")
    for _ in range(3):
        await create_link(kurz, owner_id=person.id)
    return lambda: kurz.account_store.delete(person.id, kurz.clock.now())


async def renaming_a_tag(kurz: Kurz, people: People) -> Write:
    person = await people.add()
    for number in range(3):
        await create_link(kurz, owner_id=person.id, tags=("old", f"t{number}"))
    return lambda: kurz.tagging.rename(-person.id, "old", "new", person.id)


async def making_a_workspace(kurz: Kurz, people: People) -> Write:
    person = await people.add()
    return lambda: people.workspace(person, "team")


async def moving_a_workspace(kurz: Kurz, people: People) -> Write:
    team = await people.workspace(await people.add(), "team")
    return lambda: kurz.teams.edit(team.id, {"slug": "crew"})


async def deleting_a_workspace(kurz: Kurz, people: People) -> Write:
    team = await people.workspace(await people.add(), "team")
    return lambda: kurz.teams.delete(team)


def of_a_domain(act: str) -> Callable[[Kurz, People], Awaitable[Write]]:
    async def prepare(kurz: Kurz, people: People) -> Write:
        team = await people.workspace(await people.add(), "team")
        now = kurz.clock.now()
        store = SqlDomainStore(kurz.database)
        domain = Domain(host="go.example.com", workspace_id=team.id, created_at=now)
        if act != "insert":
            await store.insert(domain)
        acts: dict[str, Write] = {
            "insert": lambda: store.insert(domain),
            "confirm": lambda: store.confirm(domain, now),
            "doubt": lambda: store.doubt(domain, now),
            "remove": lambda: store.remove(team.id, domain.host, now),
        }
        return acts[act]

    return prepare


WRITES: dict[str, Callable[[Kurz, People], Awaitable[Write]]] = {
    "create": creating,
    "edit": editing,
    "code change": renaming,
    "delete": deleting,
    "restore": restoring,
    "claim": claiming,
    "many creates": creating_many_at_once,
    "import": importing,
    "import up to a quota": importing_up_to_a_quota,
    "account deletion": deleting_an_account,
    "tag rename": renaming_a_tag,
    "new workspace": making_a_workspace,
    "workspace move": moving_a_workspace,
    "workspace deletion": deleting_a_workspace,
    "new domain": of_a_domain("insert"),
    "proved domain": of_a_domain("confirm"),
    "doubted domain": of_a_domain("doubt"),
    "removed domain": of_a_domain("remove"),
}


@pytest.mark.parametrize("kind", WRITES)
async def test_a_write_is_heard_here_before_it_returns_and_elsewhere_by_a_wake_up(
    kurz, people, kind
):
    write = await WRITES[kind](kurz, people)
    own = Listener(kurz.shared.feed)
    before = await SqlChangeLog(kurz.database).last()
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await write()
        heard = sorted(own.heard)
        written = await written_since(kurz, before)
        assert written
        assert heard == sorted(written)
        await other.wait_for(written)
        assert sorted(other.heard) == heard
        assert set(own.numbers) == {0}
        # Of writes at the same time, the later number may be heard first.
        last = other.numbers[-len(heard) :]
        assert sorted(last) == [*range(before + 1, before + len(heard) + 1)]


async def test_a_code_change_is_told_for_both_codes(kurz, people):
    write = await renaming(kurz, people)
    own = Listener(kurz.shared.feed)
    edited = await write()
    assert {change[1:] for change in own.heard} == {(0, "before", 2), (0, "after", 2)}
    assert {change.link_id for change in own.heard} == {edited.id}


@pytest.mark.parametrize("kind", ["workspace move", "workspace deletion", "proved domain"])
async def test_a_move_names_the_workspace_and_no_link(kurz, people, kind):
    write = await WRITES[kind](kurz, people)
    own = Listener(kurz.shared.feed)
    await write()
    (team,) = await kurz.workspaces.list_all()
    assert own.heard == [Change(0, team.id, "", 0)]


async def test_without_wake_ups_a_write_is_heard_within_a_tick(kurz, people):
    write = await creating(kurz, people)
    async with another_process(kurz, tick_seconds=SOON_SECONDS, waker=SilentWaker()) as other:
        made = await write()
        await other.wait_for([Change(made.id, 0, "new", 1)])


async def test_a_process_that_ends_right_after_its_write_is_heard_at_once(kurz):
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        async with open_kurz(kurz.settings, kurz.clock) as command:
            made = await create_link(command, custom_code="quick")
        await other.wait_for([Change(made.id, 0, "quick", 1)])


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_write_is_told_although_whoever_asked_has_left(kurz):
    made = await create_link(kurz)
    own = Listener(kurz.shared.feed)
    asked = asyncio.create_task(kurz.store.update(made, {"title": "x"}, kurz.clock.now()))
    await asyncio.sleep(0)
    asked.cancel()
    await own.wait_for([Change(made.id, 0, made.short_code, 2)])
    assert asked.cancelled()


async def test_nothing_is_told_of_a_write_that_was_undone(kurz):
    own = Listener(kurz.shared.feed)
    spent = (Allowance("account:1", 0, 202603),)
    draft = Draft(original_url="https://example.com/", custom_code="refused")
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
        with pytest.raises(QuotaExceeded):
            await kurz.links.create(draft, allowances=spent)
        assert own.heard == []
        made = await create_link(kurz, custom_code="fine")
        await other.wait_for([Change(made.id, 0, "fine", 1)])
        await asyncio.sleep(3 * SOON_SECONDS)
        assert set(own.heard) == set(other.heard) == {Change(made.id, 0, "fine", 1)}


async def test_an_undone_write_takes_none_of_its_company_along(kurz):
    """On SQLite they share a transaction, which is repeated without it."""
    own = Listener(kurz.shared.feed)
    spent = (Allowance("account:1", 0, 202603),)
    drafts = [Draft(original_url="https://e.example/", custom_code=f"code{n}") for n in range(9)]
    results = await asyncio.gather(
        *(
            kurz.links.create(draft, allowances=spent if number % 3 == 0 else ())
            for number, draft in enumerate(drafts)
        ),
        return_exceptions=True,
    )
    made = [result.link for result in results if not isinstance(result, BaseException)]
    assert [type(result) for result in results[::3]] == [QuotaExceeded] * 3
    assert len(made) == 6
    assert sorted(own.heard) == sorted(Change(it.id, 0, it.short_code, 1) for it in made)


async def test_what_was_written_before_the_start_does_not_hide_what_comes(kurz):
    made = [await create_link(kurz) for _ in range(3)]
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        assert other.heard == []
        edited = await kurz.links.edit(
            kurz.links.public_id(made[0]),
            ANY,
            Edit(expires_at=kurz.clock.now() + timedelta(days=1)),
        )
        await other.wait_for([Change(edited.id, 0, edited.short_code, 2)])
