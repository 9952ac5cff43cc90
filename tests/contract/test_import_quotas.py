"""An import keeps to the quotas, on both engines."""

import asyncio

from kurz.people.quotas import Allowance
from kurz.storage.schema import links as link_tables
from kurz.transfer.importing import BATCH
from support.transfer import count, counts, outcomes, run


def quota(limit: int, subject: str = "account:3") -> Allowance:
    return Allowance(subject, limit, 202603)


async def test_rows_beyond_a_quota_are_refused(kurz):
    allowances = (quota(BATCH + 5), quota(BATCH + 3, "workspace:1"))
    data = "url\n" + "".join(f"https://example.com/{n}\n" for n in range(BATCH + 10))
    dry = await run(kurz, data, allowances=allowances, is_dry=True)
    results = await run(kurz, data, allowances=allowances)
    assert dry == results
    assert outcomes(results) == ["created"] * (BATCH + 3) + ["refused"] * 7
    assert results[-1].problem == "quota-exceeded"
    assert "workspace" in (results[-1].reason or "")
    assert (await counts(kurz))[:2] == [BATCH + 3, BATCH + 3]
    again = await run(kurz, data, allowances=allowances)
    assert outcomes(again) == ["existed"] * (BATCH + 3) + ["refused"] * 7


async def test_a_repeated_row_beyond_a_quota_is_refused_too(kurz):
    data = "code,url\na,https://example.com/1\nb,https://example.com/2\nb,https://example.com/2\n"
    results = await run(kurz, data, allowances=(quota(1),))
    assert outcomes(results) == ["created", "refused", "refused"]
    assert {result.problem for result in results[1:]} == {"quota-exceeded"}


async def test_existing_rows_spend_no_quota(kurz):
    data = "code,url\na,https://example.com/1\n"
    for _ in range(3):
        await run(kurz, data, allowances=(quota(2),))
    more = await run(
        kurz, "url\nhttps://example.com/2\nhttps://example.com/3\n", allowances=(quota(2),)
    )
    assert outcomes(more) == ["created", "refused"]


async def test_parallel_imports_cannot_pass_a_quota(kurz):
    def data(number: int) -> str:
        return "url\n" + "".join(f"https://example.com/{number}/{n}\n" for n in range(60))

    runs = [run(kurz, data(n), allowances=(quota(100),)) for n in range(4)]
    results = [result for found in await asyncio.gather(*runs) for result in found]
    assert outcomes(results).count("created") == 100
    assert await count(kurz, link_tables.links) == 100
