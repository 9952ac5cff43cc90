"""Sites at hand: what was looked up while it changed is not remembered."""

import asyncio
from collections.abc import Mapping

from kurz.errors import StoreUnavailable
from kurz.people.domains import Domains
from kurz.people.workspaces import Site
from kurz.server.hosts import Hosts

HOST = b"go.example.com"
TEAM = Site(7, is_custom_domain=True)


class SlowStore:
    """Answers when it is told to, with what was there when it was asked."""

    def __init__(self) -> None:
        self.sites: dict[str, Site] = {}
        self.is_out = False
        self.questions: list[asyncio.Event] = []

    async def verified_sites(self) -> Mapping[str, Site]:
        found, is_out = dict(self.sites), self.is_out
        self.questions.append(asyncio.Event())
        await self.questions[-1].wait()
        if is_out:
            raise StoreUnavailable("The database does not answer.")
        return found

    async def answer(self) -> None:
        """The question that was asked last, which is under way now."""
        await asyncio.sleep(0.01)
        self.questions[-1].set()
        await asyncio.sleep(0.01)


async def ask(hosts: Hosts, store: SlowStore) -> Site:
    asking = asyncio.create_task(hosts.get(HOST))
    await store.answer()
    return await asking


async def test_whoever_asks_while_a_lookup_is_under_way_gets_no_older_answer():
    store = SlowStore()
    hosts = Hosts(None, Domains(store))
    assert not (await ask(hosts, store)).is_custom_domain
    store.sites["go.example.com"] = TEAM
    hosts.forget()
    first = asyncio.create_task(hosts.get(HOST))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(hosts.get(HOST))
    await store.answer()
    assert [await first, await second] == [TEAM, TEAM]
    assert hosts.known == {HOST: TEAM}


async def test_an_answer_from_before_a_change_is_not_kept():
    store = SlowStore()
    hosts = Hosts(None, Domains(store))
    early = asyncio.create_task(hosts.get(HOST))
    await asyncio.sleep(0.01)
    store.sites["go.example.com"] = TEAM
    hosts.forget()
    await store.answer()
    assert not (await early).is_custom_domain
    assert await ask(hosts, store) == TEAM
    assert len(store.questions) == 2


async def test_what_stands_while_the_store_is_out_is_not_remembered():
    store = SlowStore()
    hosts = Hosts(None, Domains(store))
    await ask(hosts, store)
    store.sites["go.example.com"] = TEAM
    store.is_out = True
    hosts.forget()
    assert not (await ask(hosts, store)).is_custom_domain
    assert hosts.known == {}
    store.is_out = False
    hosts.forget()  # or a second later
    assert await ask(hosts, store) == TEAM
    assert hosts.known == {HOST: TEAM}


async def test_the_host_of_the_base_url_is_remembered_in_any_case():
    store = SlowStore()
    hosts = Hosts("https://go.example.com", Domains(store))
    await hosts.get(HOST)
    assert HOST in hosts.known
    assert not store.questions
