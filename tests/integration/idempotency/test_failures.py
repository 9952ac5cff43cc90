"""A request that fails keeps no receipt, and can be sent again."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from structlog.testing import capture_logs

from kurz.links.model import Draft
from kurz.people.quotas import Allowance
from kurz.people.receipts import Receipt
from kurz.storage.schema.links import history, link_tags, links, receipts, usage
from kurz.wiring.core import Kurz
from support.desk import code_of
from support.idempotency import URL, WAYS, Connect, count, json_body, rows


async def test_a_taken_code_can_be_asked_for_again(world):
    await world.send(WAYS["a custom code"], {})
    await world.kurz.database.write(
        lambda it: it.execute(sa.update(links).values(canonical_url="https://other.example/"))
    )
    taken = await world.send(WAYS["a custom code"])
    assert code_of(taken) == (409, "custom-code-taken")
    assert await count(world.kurz, receipts) == 0
    [held] = await rows(world.kurz, links)
    await world.kurz.database.write(
        lambda it: it.execute(sa.update(links).values(short_code="renamed"))
    )
    assert held["short_code"] == "chosen"
    assert (await world.send(WAYS["a custom code"])).status_code == 201


async def test_a_refused_value_keeps_nothing(world):
    way = WAYS["a link"]
    refused = await world.send(replace(way, sent=json_body(original_url="ftp://example.com")))
    assert code_of(refused) == (422, "url-refused")
    refused = await world.send(replace(way, sent=json_body(nothing="here")))
    assert code_of(refused) == (422, "request-refused")
    assert await count(world.kurz, receipts) == 0
    assert (await world.send(way)).status_code == 201


async def test_a_used_up_quota_keeps_nothing(world, connect: Connect, clock, people):
    client = await connect(links_per_month=1)
    way = WAYS["a link"]
    assert (await world.send(way, {}, client=client)).status_code == 201
    refused = await world.send(way, client=client)
    assert code_of(refused) == (429, "quota-exceeded")
    assert await count(world.kurz, receipts) == 0
    clock.advance(days=31)
    fresh = people.sign_in(world.owner.account).headers
    assert (await world.send(way, client=client, who=fresh)).status_code == 201


async def test_a_taken_slug_and_a_foreign_domain_keep_nothing(world):
    for way in (WAYS["a workspace"], WAYS["a domain"]):
        taken = way.sent["json"] | {"slug": "team"} if "slug" in way.sent["json"] else None
        sent = {"json": taken} if taken else json_body(host="no host at all")
        assert (await world.send(replace(way, sent=sent))).status_code in (409, 422)
        assert await count(world.kurz, receipts) == 0
        assert (await world.send(way)).status_code == 201
        await world.kurz.database.write(lambda it: it.execute(sa.delete(receipts)))


async def _break_receipts(kurz: Kurz) -> None:
    """Makes the last statement of a create fail, after the link has been written."""

    def work(connection: sa.Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql(
                "CREATE TRIGGER crash BEFORE INSERT ON receipts"
                " BEGIN SELECT RAISE(ABORT, 'crash'); END"
            )
            return
        connection.exec_driver_sql(
            "CREATE FUNCTION crash() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'crash'; END $$"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER crash BEFORE INSERT ON receipts FOR EACH ROW EXECUTE FUNCTION crash()"
        )

    await kurz.database.write(work)


async def _mend_receipts(kurz: Kurz) -> None:
    def work(connection: sa.Connection) -> None:
        on = "" if connection.dialect.name == "sqlite" else " ON receipts"
        connection.exec_driver_sql(f"DROP TRIGGER crash{on}")

    await kurz.database.write(work)


async def test_a_crash_before_the_commit_leaves_neither_link_nor_receipt(world):
    way = WAYS["a link"]
    await _break_receipts(world.kurz)
    with capture_logs():  # drawing the traceback would take seconds
        assert (await world.send(way)).status_code == 500
    for table in (links, link_tags, history, receipts, usage):
        assert await count(world.kurz, table) == 0
    assert (await world.send(way, {})).status_code == 201  # who sends no key is not concerned
    await _mend_receipts(world.kurz)
    assert (await world.send(way)).status_code == 201
    assert await world.made(links) == 2


async def test_a_crash_spends_no_quota_and_harms_nobody_beside_it(kurz, clock):
    """On SQLite the writes of one moment share a transaction."""

    def crash(_: object) -> bytes:
        raise RuntimeError("crash")

    def receipt(number: int, write: Callable[[Any], bytes]) -> Receipt:
        return Receipt("account:1", bytes([number]), b"", clock.now(), write)

    draft = Draft(original_url=URL, owner_id=1)
    allowances = (Allowance("account:1", 100, 202603),)
    results = await asyncio.gather(
        *(
            kurz.links.create(
                draft,
                allowances=allowances,
                receipt=receipt(number, crash if number % 3 == 0 else lambda _: b"kept"),
            )
            for number in range(9)
        ),
        return_exceptions=True,
    )
    failed = [number for number, result in enumerate(results) if isinstance(result, RuntimeError)]
    assert failed == [0, 3, 6]
    assert await count(kurz, links) == 6
    assert sorted(row["key_hash"] for row in await rows(kurz, receipts)) == [
        bytes([number]) for number in range(9) if number % 3
    ]
    [spent] = await rows(kurz, usage)
    assert spent["links"] == 6
