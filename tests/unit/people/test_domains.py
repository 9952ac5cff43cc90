"""Verified domains are asked for rarely, once for many, and outlive an outage."""

import asyncio

import pytest

from kurz.errors import StoreUnavailable
from kurz.people.domains import Domains
from kurz.people.workspaces import Site, Workspace

TEAM = Site(7, is_custom_domain=True)


class CountingStore:
    """A `WorkspaceStore` that counts its loads, and can be out."""

    def __init__(self) -> None:
        self.loads = 0
        self.is_out = False
        self.sites = {"team.example": TEAM}

    async def find(self, workspace_id: int) -> Workspace | None:
        return None

    async def find_by_slug(self, slug: str) -> Workspace | None:
        return None

    async def verified_sites(self) -> dict[str, Site]:
        self.loads += 1
        await asyncio.sleep(0)
        if self.is_out:
            raise StoreUnavailable("out")
        return self.sites


@pytest.fixture
def moment(monkeypatch):
    """The time that `Domains` sees, in seconds; a test moves it."""
    seconds = [100.0]
    monkeypatch.setattr("kurz.people.domains.time.monotonic", lambda: seconds[0])
    return seconds


async def test_many_at_once_make_one_load(moment):
    store = CountingStore()
    directory = Domains(store)
    answers = await asyncio.gather(*(directory.sites() for _ in range(50)))
    assert store.loads == 1
    assert all(answer == {"team.example": TEAM} for answer in answers)


async def test_a_change_is_seen_after_a_second(moment):
    store = CountingStore()
    directory = Domains(store)
    await directory.sites()
    store.sites = {}
    assert await directory.sites() == {"team.example": TEAM}
    moment[0] += 1.0
    assert await directory.sites() == {}
    assert store.loads == 2


async def test_the_last_answer_stands_while_the_store_is_out(moment):
    store = CountingStore()
    directory = Domains(store)
    await directory.sites()
    store.is_out = True
    moment[0] += 5.0
    assert await directory.sites() == {"team.example": TEAM}
    assert await directory.sites() == {"team.example": TEAM}
    assert store.loads == 2


@pytest.mark.parametrize("is_known", [True, False])
async def test_while_the_store_hangs_nobody_waits_for_others_to_wait(moment, is_known):
    store = CountingStore()
    directory = Domains(store)
    if is_known:
        await directory.sites()
    store.is_out = True

    async def hang() -> dict[str, Site]:
        store.loads += 1
        await asyncio.sleep(0)
        moment[0] += 5.0
        raise StoreUnavailable("out")

    store.verified_sites = hang  # type: ignore[method-assign]
    moment[0] += 5.0
    before = store.loads
    answers = await asyncio.gather(*(directory.sites() for _ in range(50)), return_exceptions=True)
    assert store.loads == before + 1
    assert all((answer == {"team.example": TEAM}) == is_known for answer in answers)
    # It is asked again a second later.
    store.verified_sites = CountingStore().verified_sites  # type: ignore[method-assign]
    moment[0] += 1.0
    assert await directory.sites() == {"team.example": TEAM}


async def test_without_any_answer_an_outage_is_one(moment):
    store = CountingStore()
    store.is_out = True
    with pytest.raises(StoreUnavailable):
        await Domains(store).sites()
