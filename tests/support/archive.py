"""Links for the archive, and what interrupts those who archive."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from kurz.clicks.batch import Batch, DayCounts, JournalPosition, Subject, SubjectKind
from kurz.links.ending.archives import ArchivedLink, LinkArchiver
from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.model import Draft, Link, Scope
from kurz.people.accounts import Account
from kurz.storage.clicks.store import SqlClickStore
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.people.accounts import SqlAccountStore
from kurz.storage.schema.clicks import click_days, click_totals
from kurz.storage.schema.jobs import archive_files
from kurz.storage.schema.links import links
from kurz.transfer.archive_format import encode
from kurz.transfer.archiving import Archiver
from kurz.transfer.restoring import Archive
from kurz.wiring.archive import open_archive, open_archiver
from kurz.wiring.core import Kurz
from support.batches import MICROS_OF_DAY
from support.failpoints import Failpoints

KEPT = timedelta(days=365)
OWNER = 5


async def make_swept(kurz: Kurz, count: int = 3, **fields: Any) -> list[Link]:
    """Links of an owner that have expired, and that the reaper has moved to the trash."""
    wanted = {"original_url": "https://example.com/", "owner_id": OWNER, **fields}
    if wanted["owner_id"] is not None:
        await add_owner(kurz, wanted["owner_id"])
    ends_at = kurz.clock.now() + timedelta(seconds=60)
    drafts = [Draft(**{"expires_at": ends_at, **wanted}) for _ in range(count)]
    made = [(await kurz.links.create(draft)).link for draft in drafts]
    return [await sweep(kurz, link) for link in made]


async def add_owner(kurz: Kurz, account_id: int) -> None:
    """The account, if it is not there."""
    account = Account(
        id=account_id,
        email=f"{account_id}@example.com",
        password_hash="",
        created_at=kurz.clock.now(),
    )
    await SqlAccountStore(kurz.database, kurz.clock).insert(account)


async def remove_owner(kurz: Kurz, account_id: int) -> None:
    assert await SqlAccountStore(kurz.database, kurz.clock).delete(account_id, kurz.clock.now())


async def sweep(kurz: Kurz, link: Link) -> Link:
    """To the trash, as the reaper does it a day later."""
    store = SqlReaperStore(kurz.database, kurz.clock, KEPT)
    later = kurz.clock.now() + timedelta(days=1)
    await store.mark_expired(later, 1000)
    await store.sweep(EndedKind.PERMANENT, RetentionAction.TRASH, later, later, 1000)
    found = await kurz.store.find(link.id, Scope())
    assert found is not None
    assert found.swept_at is not None
    return found


async def run_until_done(
    kurz: Kurz, archiver: LinkArchiver, ended: EndedKind = EndedKind.SWEPT
) -> int:
    """Two days from now, with all that came to the trash so; tells how many links went."""
    now = kurz.clock.now() + timedelta(days=2)
    total, is_more = 0, True
    while is_more:
        done = await archiver.run(ended, now, now, 1000)
        total, is_more = total + done.count, done.is_more
    return total


async def archiver_of(kurz: Kurz) -> Archiver:
    found = open_archiver(kurz)
    assert isinstance(found, Archiver)
    return found


async def stopping_archiver(kurz: Kurz, failpoints: Failpoints) -> Archiver:
    """One with points before and behind each call of its store and of its files."""

    async def step() -> None:
        failpoints.step()

    return await watched_archiver(kurz, step)


async def watched_archiver(kurz: Kurz, step: Callable[[], Awaitable[None]]) -> Archiver:
    archiver = await archiver_of(kurz)
    archiver._store = _Watched(archiver._store, step)
    archiver._files = _Watched(archiver._files, step)
    return archiver


class _Watched:
    def __init__(self, inner: Any, step: Callable[[], Awaitable[None]]) -> None:
        self._inner = inner
        self._step = step

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*args: Any) -> Any:
            await self._step()
            result = await method(*args)
            await self._step()
            return result

        return call


class Pause:
    """Holds somebody at the point of that number until it is released."""

    def __init__(self, at: int) -> None:
        self.passed = 0
        self.reached = asyncio.Event()
        self.released = asyncio.Event()
        self._at = at

    async def step(self) -> None:
        self.passed += 1
        if self.passed == self._at + 1:
            self.reached.set()
            await self.released.wait()


async def archived_ids(kurz: Kurz) -> Counter[int]:
    """How often each link is in a file that counts."""
    archive: Archive = open_archive(kurz)
    found: Counter[int] = Counter()
    for file in await archive.list():
        found.update(entry.archived.link.id for entry in await archive.read(file.name))
    return found


async def living_ids(kurz: Kurz) -> set[int]:
    query = sa.select(links.c.id)
    return set(await kurz.database.read(lambda it: it.execute(query).scalars().all()))


async def counted(kurz: Kurz, link_id: int) -> list[list[Any]]:
    """The rows of what was counted for a link."""
    found = []
    for table in click_totals, click_days:
        query = sa.select(table).where(
            table.c.kind == SubjectKind.LINK.value, table.c.subject == link_id
        )
        found.append(sorted(tuple(row) for row in await _all(kurz, query)))
    return found


async def restore(kurz: Kurz, name: str, *codes: str, **options: Any) -> list[Any]:
    archive = open_archive(kurz)
    return [found.result async for found in archive.restore(name, codes, **options)]


async def put_file(
    archiver: Archiver, name: str, links: Sequence[ArchivedLink], **other: Any
) -> None:
    """A file of that name in the archive, with these links; signed, unless `signer` is another."""
    installation = other.get("installation", archiver._installation)
    data = encode(links, {}, installation, other["now"])
    await archiver._files.write(name, other.get("signer", archiver._signer).pack(name, data))


async def only_file(kurz: Kurz) -> str:
    [file] = await (open_archive(kurz)).list()
    return file.name


async def names_in_place(archiver: Archiver) -> list[str]:
    """Also of files that do not count."""
    return [file.name for file in await archiver._files.list()]


async def rows(kurz: Kurz, table: sa.Table, *conditions: Any) -> Sequence[Any]:
    return await _all(kurz, sa.select(table).where(*conditions))


async def _all(kurz: Kurz, query: Any) -> Sequence[Any]:
    return await kurz.database.read(lambda it: it.execute(query).all())


async def click(kurz: Kurz, *links: Link, segment: int = 0) -> None:
    """Each once, today."""
    store = SqlClickStore(kurz.database, kurz.clock)
    start = JournalPosition(segment.to_bytes(16), 0)
    batch = Batch(start, JournalPosition(start.segment, 1), clicks=len(links))
    for link in links:
        key = Subject(SubjectKind.LINK, link.id), kurz.clock.micros() // MICROS_OF_DAY
        batch.days[key] = DayCounts(clicks=1)
    assert await store.apply(batch)


async def add_days(kurz: Kurz, link: Link, number: int) -> None:
    """As many days with clicks, the last one today."""
    store = SqlClickStore(kurz.database, kurz.clock)
    start = JournalPosition(link.id.to_bytes(16), 0)
    batch = Batch(start, JournalPosition(start.segment, 1), clicks=number)
    today = kurz.clock.micros() // MICROS_OF_DAY
    for day in range(today - number + 1, today + 1):
        batch.days[Subject(SubjectKind.LINK, link.id), day] = DayCounts(clicks=1, counts={"cDE": 1})
    assert await store.apply(batch)


async def revive(kurz: Kurz, link: Link) -> None:
    await kurz.links.restore(kurz.links.public_id(link), Scope())


async def empty(kurz: Kurz, archiver: Archiver) -> None:
    """As if nothing had ever been archived."""
    for name in await names_in_place(archiver):
        await archiver._files.remove(name)
    await forget_files(kurz)


async def forget_files(kurz: Kurz) -> None:
    """As a database that an older backup was put back into."""
    await kurz.database.write(lambda it: it.execute(sa.delete(archive_files)).rowcount)


async def late_click(kurz: Kurz, link: Link, day: int) -> None:
    start = JournalPosition((link.id + 2**32).to_bytes(16), 0)
    batch = Batch(start, JournalPosition(start.segment, 1), clicks=1)
    batch.days[Subject(SubjectKind.LINK, link.id), day] = DayCounts(clicks=1, counts={"cDE": 1})
    assert await SqlClickStore(kurz.database, kurz.clock).apply(batch)
