"""Exports hold what they should, on both engines."""

import pytest

from kurz.links.model import Draft, Filter, Scope, Status
from kurz.links.transfers import ImportTarget, TransferFormat
from kurz.transfer.exporting import PAGE
from support.transfer import ROOT, exported, records, run, team

KINDS = pytest.mark.parametrize("kind", list(TransferFormat))


@pytest.mark.parametrize("owner_id", [None, 9])
async def test_an_export_has_pages_and_leaves_nothing_out(kurz, owner_id):
    days = ["2020-01-03", "2020-01-01", "2020-01-02"]
    codes = [f"c{number}" for number in range(2 * PAGE + 3)]
    rows = "".join(f"{code},https://example.com/,{days[n % 3]}\n" for n, code in enumerate(codes))
    await run(kurz, "code,url,date\n" + rows, target=ImportTarget(owner_id=owner_id))
    found = await records(kurz, scope=Scope(0, owner_id))
    assert sorted(item["short_code"] for item in found) == sorted(codes)
    made = [item["created_at"] for item in found]
    assert (made == sorted(made)) is (owner_id is not None)  # by age in a list, else as they came


async def test_an_export_shows_its_scope_only(kurz):
    workspace = await team(kurz)
    places = {
        "root": ROOT,
        "mine": ImportTarget(owner_id=3),
        "team": ImportTarget(workspace_id=workspace.id, owner_id=3),
        "teams": ImportTarget(workspace_id=workspace.id, owner_id=4),
    }
    for code, target in places.items():
        await run(kurz, f"code,url\n{code},https://example.com/\n", target=target)

    async def seen(scope: Scope) -> set[str]:
        return {item["short_code"] for item in await records(kurz, scope=scope)}

    assert await seen(Scope()) == set(places)
    assert await seen(Scope(0, 3)) == {"mine"}
    assert await seen(Scope(0)) == {"root", "mine"}
    assert await seen(Scope(workspace.id)) == {"team", "teams"}
    assert await seen(Scope(workspace.id, 3)) == {"team"}
    assert await seen(Scope(owner_id=3)) == {"mine", "team"}


async def test_the_trash_is_exported_if_asked(kurz):
    created = await kurz.links.create(Draft(original_url="https://example.com/", custom_code="old"))
    await kurz.links.delete(kurz.links.public_id(created.link), Scope())
    assert await records(kurz) == []
    [found] = await records(kurz, with_trash=True)
    assert (found["status"], found["deleted_at"]) == ("DELETED", "2026-03-01T12:00:00Z")


async def test_chosen_links_are_exported_in_their_order_and_no_others(kurz):
    days = ["2020-01-03", "2020-01-01", "2020-01-02"]
    rows = "".join(f"c{n},https://example.com/,{days[n % 3]}\n" for n in range(2 * PAGE + 3))
    await run(kurz, f"code,url,date\n{rows}", target=ImportTarget(owner_id=9))
    await run(kurz, "code,url\nother,https://example.com/\n", target=ImportTarget(owner_id=8))
    everything = await records(kurz, scope=Scope(0, 9))
    ids = {code: (await kurz.links.get_by_code(0, code)).id for code in ("c0", "c1", "c5", "other")}

    async def codes(*link_ids: int, scope: Scope = Scope(0, 9)) -> list[str]:  # noqa: B008  frozen
        found = await records(kurz, scope=scope, link_ids=link_ids)
        return [item["short_code"] for item in found]

    assert await codes(*ids.values()) == ["c1", "c5", "c0"]
    assert await codes(ids["other"], 2**60) == []
    assert await codes(ids["other"], ids["c0"], scope=Scope()) == ["c0", "other"]
    all_ids = [(await kurz.links.get_by_code(0, item["short_code"])).id for item in everything]
    assert await records(kurz, scope=Scope(0, 9), link_ids=all_ids) == everything


async def test_links_that_match_a_filter_are_exported_and_no_others(kurz):
    rows = "".join(f"c{n},https://example.com/{n},{n % 2}\n" for n in range(2 * PAGE + 6))
    await run(kurz, f"code,url,tags\n{rows}", target=ImportTarget(owner_id=9))
    await run(kurz, "code,url,tags\nx,https://example.com/,1\n", target=ImportTarget(owner_id=8))
    found = await records(kurz, scope=Scope(0, 9), wanted=Filter(tag="1"))
    assert [item["short_code"] for item in found] == [f"c{n}" for n in range(1, 2 * PAGE + 6, 2)]
    last = await kurz.links.get_by_code(0, "c1")
    await kurz.links.delete(kurz.links.public_id(last), Scope())
    again = await records(kurz, scope=Scope(0, 9), wanted=Filter(tag="1"))
    assert again == found[1:]
    trash = await records(kurz, scope=Scope(0, 9), wanted=Filter(status=Status.DELETED))
    assert [item["short_code"] for item in trash] == ["c1"]
    whole = await records(kurz, scope=Scope(0, 9), wanted=Filter(tag="1"), with_trash=True)
    assert len(whole) == len(found)


async def test_an_export_says_what_a_link_is_now(kurz, clock):
    draft = Draft(original_url="https://example.com/", expires_in_seconds=60)
    await kurz.links.create(draft)
    assert (await records(kurz))[0]["status"] == "ACTIVE"
    clock.advance(seconds=60)
    assert (await records(kurz))[0]["status"] == "EXPIRED"


@KINDS
async def test_an_empty_export_can_be_imported(kurz, kind):
    assert await run(kurz, await exported(kurz, kind), kind) == []
