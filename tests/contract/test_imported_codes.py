"""The codes that imported rows get, on both engines."""

import pytest

from kurz.links.codes import deterministic
from kurz.links.model import Draft, Link, Strategy
from kurz.links.transfers import ImportTarget, OneTarget, RowOutcome, TransferFormat
from kurz.people.own_hosts import OwnHosts
from kurz.storage.links.bulk import SqlBulkStore
from kurz.transfer.codes import RowCodes
from kurz.transfer.importing import Importer
from support.transfer import ROOT, chunks, outcomes, run, team


async def test_a_row_without_a_code_gets_one_by_its_workspaces_strategy(kurz):
    workspace = await team(kurz)
    url = "https://example.com/page"
    places = {
        Strategy.DETERMINISTIC: ImportTarget(
            workspace_id=workspace.id, strategy=Strategy.DETERMINISTIC
        ),
        Strategy.RANDOM: ImportTarget(strategy=Strategy.COUNTER),
    }
    for strategy, target in places.items():
        [result] = await run(kurz, f"url\n{url}\n", target=target)
        link = await kurz.store.find_by_code(target.workspace_id, result.short_code)
        assert (link.original_url, link.strategy) == (url, strategy)
        assert outcomes(await run(kurz, f"url\n{url}\n", target=target)) == ["existed"]
    assert await kurz.store.find_by_code(workspace.id, deterministic.generate(url, workspace.id))
    created = await kurz.links.create(Draft(original_url=url, workspace_id=workspace.id))
    assert not created.is_new


async def test_different_people_get_different_codes_for_a_url(kurz):
    data = "url\nhttps://example.com/\n"
    codes = [
        (await run(kurz, data, target=ImportTarget(owner_id=n)))[0].short_code for n in (1, 2, None)
    ]
    assert len(set(codes)) == 3


async def test_a_made_code_that_is_taken_is_replaced(kurz):
    workspace = await team(kurz)
    for target in (ROOT, ImportTarget(workspace_id=workspace.id, strategy=Strategy.DETERMINISTIC)):
        data = "url\nhttps://example.com/wanted\n"
        [dry] = await run(kurz, data, target=target, is_dry=True)
        blocker = f"code,url\n{dry.short_code},https://example.com/other\n"
        assert outcomes(await run(kurz, blocker, target=target)) == ["created"]
        for is_dry in (True, False):
            [result] = await run(kurz, data, target=target, is_dry=is_dry)
            assert result.outcome is RowOutcome.CREATED
            assert result.short_code != dry.short_code
        assert outcomes(await run(kurz, data, target=target)) == ["existed"]


async def test_codes_run_out_at_last(kurz):
    class Same(RowCodes):
        def code(self, link: Link, attempt: int) -> str:
            return "same"

    importer = Importer(
        SqlBulkStore(kurz.database), Same(b"", 7), OwnHosts(None, kurz.domains), kurz.clock
    )
    await run(kurz, "code,url\nsame,https://example.com/other\n")
    found = []
    source = chunks(b"url\nhttps://example.com/\n")
    async for results in importer.run(source, TransferFormat.CSV, OneTarget(ROOT)):
        found += results
    assert [(str(result.outcome), result.problem) for result in found] == [
        ("refused", "codes-exhausted")
    ]


@pytest.mark.parametrize("is_dry", [False, True])
async def test_a_second_deterministic_code_of_a_url_is_a_custom_one(kurz, is_dry):
    workspace = await team(kurz)
    target = ImportTarget(workspace_id=workspace.id, strategy=Strategy.DETERMINISTIC)
    url = "https://example.com/page"
    codes = [deterministic.generate(url, workspace.id, salt) for salt in (3, 0)]
    data = "code,url,strategy\n" + "".join(f"{code},{url},deterministic\n" for code in codes)
    assert outcomes(await run(kurz, data, target=target, is_dry=is_dry)) == ["created"] * 2
    if not is_dry:
        found = [await kurz.store.find_by_code(workspace.id, code) for code in codes]
        assert [link.strategy for link in found] == [Strategy.DETERMINISTIC, Strategy.CUSTOM]
