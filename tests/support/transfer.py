"""Exports and imports in one line, for tests."""

import json
from collections.abc import AsyncIterator
from typing import Any

import sqlalchemy as sa

from kurz.links.model import Scope
from kurz.links.transfers import ImportTarget, OneTarget, RowResult, TransferFormat
from kurz.people.workspaces import Workspace
from kurz.storage.schema import links as link_tables
from kurz.wiring.core import Kurz

ROOT = ImportTarget()
EVERYTHING = Scope()


async def chunks(data: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def run(
    kurz: Kurz,
    data: bytes | str,
    kind: TransferFormat = TransferFormat.CSV,
    target: Any = ROOT,
    **options: Any,
) -> list[RowResult]:
    """Imports into a target, or where `Targets` says."""
    data = data.encode() if isinstance(data, str) else data
    targets = target if hasattr(target, "find") else OneTarget(target)
    found: list[RowResult] = []
    async for results in kurz.importer.run(chunks(data), kind, targets, **options):
        found += results
    return found


def outcomes(results: list[RowResult]) -> list[str]:
    return [str(result.outcome) for result in results]


async def exported(
    kurz: Kurz,
    kind: TransferFormat = TransferFormat.JSONL,
    scope: Scope = EVERYTHING,
    slugs: dict[int, str] | None = None,
    **which: Any,
) -> bytes:
    chunks = kurz.exporter.run(kind, scope, slugs or {}, **which)
    return b"".join([chunk async for chunk in chunks])


async def records(kurz: Kurz, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (await exported(kurz, **options)).splitlines()]


async def count(kurz: Kurz, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table)
    return await kurz.database.read(lambda connection: connection.execute(query).scalar_one())


async def counts(kurz: Kurz) -> list[int]:
    tables = (link_tables.links, link_tables.changes, link_tables.link_tags, link_tables.usage)
    return [await count(kurz, table) for table in tables]


async def team(kurz: Kurz, slug: str = "team") -> Workspace:
    made = await kurz.workspaces.insert(Workspace(0, slug, slug, created_at=kurz.clock.now()), None)
    assert made is not None
    return made
