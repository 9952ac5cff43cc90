"""Links to be listed: made by chance, stored by SQL, and read page by page."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.links import lifecycle
from kurz.links.model import Filter, Link, LinkPage, Scope, Status
from kurz.storage.links.search import index_changes
from kurz.storage.schema import links as link_tables
from kurz.storage.schema.link_rows import INSERTED, to_row
from kurz.wiring.core import Kurz
from support.links import NOW, link

TEAM = 7
OWNERS = (11, 12, 2**53 - 1)
HERE = Scope(TEAM)
WORDS = ("alpha", "Beta", "GRÜSSE", "grüße", "Ärger", "ärger", "50% off", "a_b", 'say "hi"', "it's")
TAGS = ("red", "green", "blue", "Ünïcode", "it's")

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def team_link(number: int, **fields: Any) -> Link:
    usual = {"url": f"https://example.com/{number}", "workspace_id": TEAM, "owner_id": OWNERS[0]}
    return link(f"code-{number}", **{**usual, **fields})


def any_link(chance: random.Random, number: int) -> Link:
    """Few different values, so that many are equal and the ids decide."""
    instants = [NOW + timedelta(microseconds=distance) for distance in (-5, -1, 0, 1, 9)]
    workspace_id = chance.choice([TEAM, TEAM, TEAM, 8, 0])
    return team_link(
        number,
        workspace_id=workspace_id,
        owner_id=chance.choice(OWNERS),
        url=f"https://{chance.choice(WORDS[:2])}.example/{chance.choice('xyz')}",
        title=chance.choice([None, *WORDS]),
        tags=tuple(chance.sample(TAGS, chance.choice([0, 1, 2]))),
        status=chance.choice([Status.ACTIVE, *Status]),
        created_at=chance.choice(instants),
        updated_at=chance.choice(instants),
        expires_at=chance.choice([None, None, *instants]),
        max_clicks=chance.choice([None, None, 1, 3]),
        clicks_used=chance.choice([0, 1, 2, 3]),
        redirect_count=chance.choice([0, 0, 1, 5, 2**40]),
    )


def is_in(scope: Scope, each: Link) -> bool:
    is_of_workspace = scope.workspace_id is None or each.workspace_id == scope.workspace_id
    return is_of_workspace and scope.owner_id in (None, each.owner_id)


def is_wanted(wanted: Filter, each: Link) -> bool:
    status = lifecycle.status(each, NOW)
    text = f"{each.short_code} {each.original_url} {each.title or ''}".lower()
    return (
        (wanted.status is status if wanted.status else wanted.with_deleted or status != "DELETED")
        and (wanted.tag is None or wanted.tag in each.tags)
        and wanted.owner_id in (None, each.owner_id)
        and (wanted.created_from is None or each.created_at >= wanted.created_from)
        and (wanted.created_before is None or each.created_at < wanted.created_before)
        and (wanted.search is None or wanted.search.lower() in text)
    )


def expected(everything: list[Link], scope: Scope, wanted: Filter) -> list[Link]:
    """The list, by the rules and nothing else."""

    def key(each: Link) -> tuple[object, int]:
        value = getattr(each, wanted.sort.field)
        return (datetime.max.replace(tzinfo=UTC) if value is None else value), each.id

    found = [each for each in everything if is_in(scope, each) and is_wanted(wanted, each)]
    return sorted(found, key=key, reverse=wanted.sort.is_descending)


def insert_all(connection: sa.Connection, made: list[Link]) -> None:
    """By SQL, as one by one would take long; with all that an insert of the store writes."""
    rows = [dict(zip(INSERTED, to_row(each), strict=True)) | {"id": each.id} for each in made]
    connection.execute(sa.insert(link_tables.links), rows)
    tags = [
        {
            "space": row["space"],
            "tag": tag,
            "in_trash": each.status is Status.DELETED,
            "link_id": each.id,
        }
        for each, row in zip(made, rows, strict=True)
        for tag in each.tags
    ]
    if tags:
        connection.execute(sa.insert(link_tables.link_tags), tags)
    logged = ("workspace_id", "short_code", "version")
    changes = [
        {"link_id": row["id"], "changed_at": 0, **{name: row[name] for name in logged}}
        for row in rows
    ]
    connection.execute(sa.insert(link_tables.changes), changes)


async def insert_many(kurz: Kurz, made: list[Link]) -> None:
    for start in range(0, len(made), 1000):  # a transaction has to end in time
        await kurz.database.write(insert_all, made[start : start + 1000])


async def fill(kurz: Kurz, count: int, seed: int) -> list[Link]:
    chance = random.Random(seed)
    first = 10**6  # beyond the ids that the engine itself gives out in a test
    made = [replace(any_link(chance, number), id=first + number) for number in range(count)]
    await insert_many(kurz, made)
    return made


async def insert(kurz: Kurz, new: Link) -> Link:
    link_id = await kurz.store.insert(new)
    assert link_id is not None
    return replace(new, id=link_id)


async def index(kurz: Kurz, limit: int = 10**6) -> int:
    """Brings the index of texts up to date, where there is one to bring."""
    if kurz.settings.database_url is not None:
        return 0
    return await kurz.database.write(index_changes, limit)


async def pages(kurz: Kurz, wanted: Filter, scope: Scope = HERE, limit: int = 50) -> list[LinkPage]:
    found: list[LinkPage] = []
    cursor = None
    while not found or cursor is not None:
        found.append(await kurz.links.list(scope, wanted, cursor=cursor, limit=limit))
        cursor = found[-1].next_cursor
    return found


async def listed(kurz: Kurz, wanted: Filter, scope: Scope = HERE, limit: int = 50) -> list[Link]:
    found = await pages(kurz, wanted, scope, limit)
    everything = [each for page in found for each in page.links]
    assert {(page.total, page.is_total_exact) for page in found} == {(len(everything), True)}
    return everything
