"""Links that end, and what is left of them, for tests of the reaper and the trash."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, Subject, SubjectKind, tag_subject
from kurz.links.model import Draft, Link, Scope, space_of
from kurz.storage.schema.clicks import click_days, click_months, click_totals
from kurz.storage.schema.link_rows import to_link
from kurz.storage.schema.links import link_tags, links
from kurz.wiring.core import Kurz

OWNER = 5


async def rows(kurz: Kurz, table: sa.Table, *conditions: Any) -> Sequence[sa.RowMapping]:
    query = sa.select(table).where(*conditions).order_by(table.c[0])
    return await kurz.database.read(lambda it: it.execute(query).mappings().all())


async def write(kurz: Kurz, statement: Any, values: Any = None) -> None:
    def run(connection: sa.Connection) -> None:
        connection.execute(statement, values)

    await kurz.database.write(run)


async def make(kurz: Kurz, **fields: Any) -> Link:
    """A link of the owner's at the root, unless the fields say otherwise."""
    wanted = {"original_url": "https://example.com/", "owner_id": OWNER, **fields}
    return (await kurz.links.create(Draft(**wanted))).link


async def throw_away(kurz: Kurz, link: Link) -> Link:
    return await kurz.links.delete(kurz.links.public_id(link), Scope())


async def restore(kurz: Kurz, link: Link) -> Link:
    return await kurz.links.restore(kurz.links.public_id(link), Scope())


async def found(kurz: Kurz, link: Link) -> Link | None:
    return await kurz.store.find(link.id, Scope())


async def exist(kurz: Kurz, links: Sequence[Link]) -> list[bool]:
    return [await found(kurz, link) is not None for link in links]


async def count_clicks(kurz: Kurz, link: Link) -> list[Subject]:
    """As if the link had been clicked, with a tag. Of whom there are numbers now, the link
    first."""
    space = space_of(link.workspace_id, link.owner_id)
    of = [
        Subject(SubjectKind.LINK, link.id),
        tag_subject(space, "tag"),
        Subject(SubjectKind.SPACE, space),
        INSTALLATION,
    ]
    keys = [{"kind": int(it.kind), "subject": it.id} for it in of]
    day = {"day": 20_000, "people": 0, "visitors": 0, "sketch": b""}
    month = {"first_day": 20_000, "hours": b""}
    total = {"timed": 0, "mean_ms": 0.0, "m2": 0.0}
    counts = {"clicks": 3, "counts": b"{}"}
    await write(kurz, sa.insert(click_days), [key | day | counts for key in keys])
    await write(kurz, sa.insert(click_months), [key | month | counts for key in keys])
    await write(kurz, sa.insert(click_totals), [key | total | {"clicks": 3} for key in keys])
    return of


async def counted(kurz: Kurz, table: sa.Table) -> set[Subject]:
    return {Subject(SubjectKind(row["kind"]), row["subject"]) for row in await rows(kurz, table)}


async def multiply(kurz: Kurz, link: Link, number: int) -> list[Link]:
    """Copies of a link under other codes, with its tags, as if they were old: they are not in the
    change log, and have no checksum."""
    differing = ("id", "short_code", "checksum")
    columns = [column.name for column in links.c if column.name not in differing]
    numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < number))
    code = sa.literal(f"copy-of-{link.short_code}-") + sa.cast(numbers.c.n, sa.Text)
    copies = sa.select(code, *(links.c[name] for name in columns)).join(numbers, sa.true())
    copies = copies.where(links.c.id == link.id)
    await write(kurz, sa.insert(links).from_select(["short_code", *columns], copies))
    are_new = links.c.short_code.startswith(f"copy-of-{link.short_code}-", autoescape=True)
    space = space_of(link.workspace_id, link.owner_id)
    for tag in link.tags:
        each = sa.select(sa.literal(space), sa.literal(tag), sa.literal(False), links.c.id)  # noqa: FBT003
        rows_of = sa.insert(link_tags).from_select([*link_tags.c.keys()], each.where(are_new))
        await write(kurz, rows_of)
    return [to_link(row) for row in await rows(kurz, links, are_new)]
