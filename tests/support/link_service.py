"""Links made, read and changed through the link service, for its tests."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from kurz.links.code_generator import CodeGenerator
from kurz.links.codes.permutation import Permutation
from kurz.links.drafting import Drafting
from kurz.links.model import Created, Draft, Filter, Link, Scope, Strategy
from kurz.links.service import LinkService
from kurz.people.domains import Domains
from kurz.people.own_hosts import OwnHosts
from kurz.storage.links.installation import LeasedCounter
from kurz.storage.schema import links as link_tables
from kurz.wiring.core import Kurz
from support import links

ANY = Scope()
ALL = Filter()
URL = links.URL


async def create(kurz: Kurz, url: str = URL, **fields: Any) -> Created:
    return await kurz.links.create(Draft(original_url=url, **fields))


async def shared(kurz: Kurz, url: str = URL, **fields: Any) -> Created:
    """Creates in workspace 1, where codes are deterministic."""
    return await create(kurz, url, workspace_id=1, **fields)


async def stored_row(kurz: Kurz, link: Link) -> sa.RowMapping:
    query = sa.select(link_tables.links).where(link_tables.links.c.id == link.id)
    row = await kurz.database.read(lambda connection: connection.execute(query).mappings().one())
    assert isinstance(row, sa.RowMapping)
    return row


async def set_row(kurz: Kurz, link: Link, **values: Any) -> None:
    statement = sa.update(link_tables.links).where(link_tables.links.c.id == link.id).values(values)
    await kurz.database.write(lambda connection: connection.execute(statement))


async def number_of_links(kurz: Kurz) -> int:
    return (await kurz.store.list(ANY, ALL, kurz.clock.now(), limit=1)).total


async def fetch(kurz: Kurz, link: Link) -> Link:
    found = await kurz.store.find(link.id, ANY)
    assert isinstance(found, Link)
    return found


def public(kurz: Kurz, link: Link) -> int:
    return kurz.links.public_id(link)


def service(
    kurz: Kurz,
    *,
    random_codes: Iterable[str] = (),
    counted_code: Callable[[int], str] = str,
    root_strategy: Strategy = Strategy.RANDOM,
    default_life: timedelta | None = None,
    base_url: str | None = None,
) -> LinkService:
    """A service whose codes are chosen by the test."""
    code_generator = CodeGenerator(
        root_strategy=root_strategy,
        random_code=iter(random_codes).__next__,
        counted_code=counted_code,
        counter=LeasedCounter(kurz.database),
    )
    return LinkService(
        kurz.store,
        code_generator,
        Drafting(timedelta(hours=8), default_life),
        Permutation(bytes(32), 2**53, purpose=b"id-v1"),
        OwnHosts(base_url, Domains(kurz.workspaces)),
        kurz.clock,
    )
