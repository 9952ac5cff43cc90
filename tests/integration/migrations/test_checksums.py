"""An upgrade adds the checksums of links without touching them: existing ones get theirs later."""

import sqlalchemy as sa

from kurz.links.checksums import KEY_BYTES, open_key
from kurz.storage.engine.migrate import Migrations
from kurz.storage.followers.checksum_filler import ChecksumFiller
from kurz.storage.links.checksums import KEY_NAME
from kurz.storage.links.installation import find_key
from kurz.storage.schema.links import links
from kurz.wiring.core import open_kurz
from support.checksums import paths, spoil, verified
from support.migrations import execute, read, upgrade
from support.old_schema import OLD_LINKS, fill_old, rows_of

# As kurz 0.2.0 writes them.
EDIT = "UPDATE links SET original_url = 'https://example.com/new', version = 2 WHERE id = 1"
MOVE = "UPDATE links SET short_code = 'moved', version = 2 WHERE id = 2"
TITLE = "UPDATE links SET title = 'new', status = 'PAUSED', version = 2 WHERE id = 3"
INSERT = (
    "INSERT INTO links (workspace_id, short_code, version, strategy, original_url, canonical_url,"
    " space, link_type, status, created_at, updated_at, redirect_status, forward_query,"
    " clicks_used, redirect_count) SELECT workspace_id, 'new', 1, strategy, original_url,"
    " canonical_url, space, link_type, status, created_at, updated_at, redirect_status,"
    " forward_query, clicks_used, redirect_count FROM links WHERE id = 1"
)


async def test_existing_links_get_their_checksums_later(settings, until):
    columns = await fill_old(settings, until("0001"))
    await upgrade(settings, until("0024"))
    before = await read(settings, lambda it: rows_of(it, columns))
    await upgrade(settings, Migrations())
    after = await read(settings, lambda it: rows_of(it, columns))
    added = [row for row in after["installation"] if row not in before["installation"]]
    assert [row["name"] for row in added] == [KEY_NAME]
    assert after | {"installation": before["installation"]} == before
    key = open_key(await read(settings, lambda it: find_key(it, KEY_NAME) or b""))
    assert key is not None
    assert len(key) == KEY_BYTES
    async with open_kurz(settings) as kurz:
        found = await verified(kurz)
        assert (found.links, found.unknown, found.damaged) == (len(OLD_LINKS), len(OLD_LINKS), 0)
        await ChecksumFiller(kurz.database).catch_up()
        found = await verified(kurz)
        assert (found.links, found.unknown, found.damaged) == (len(OLD_LINKS), 0, 0)
        links_now = await kurz.database.read(lambda it: rows_of(it, columns))
        assert links_now["links"] == after["links"]
        await kurz.database.write(spoil("plain", original_url="https://example.com/else"))
        assert await paths(kurz) == ["/plain"]


async def test_what_an_older_version_writes_after_the_upgrade_is_no_alarm(settings, until):
    await fill_old(settings, until("0001"))
    await upgrade(settings, Migrations())
    async with open_kurz(settings) as kurz:
        await ChecksumFiller(kurz.database).catch_up()
        await execute(settings, EDIT, MOVE, TITLE, INSERT)
        found = await verified(kurz)
        assert (found.unknown, found.damaged) == (3, 0)
        missing = sa.select(links.c.id).where(links.c.checksum.is_(None)).order_by(links.c.id)
        ids = await kurz.database.read(lambda it: it.execute(missing).scalars().all())
        assert [*ids] == [1, 2, len(OLD_LINKS) + 1]
        await ChecksumFiller(kurz.database).catch_up()
        found = await verified(kurz)
        assert (found.unknown, found.damaged) == (0, 0)


async def test_each_database_has_a_key_of_its_own(settings, until):
    keys = set()
    for head in "0025", "0026":
        settings.data_dir.mkdir(exist_ok=True)
        await upgrade(settings, until(head))
        keys.add(await read(settings, lambda it: find_key(it, KEY_NAME)))
        assert len(keys) == 1  # an upgrade keeps it
