"""A restore to PostgreSQL whose connection is lost while it is committed."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import asyncpg
import pytest

from kurz.errors import StoreUnavailable
from kurz.settings.model import Settings
from kurz.settings.secret import keep_secret
from kurz.storage.portable.outcomes import is_committed
from kurz.wiring.backup_storage import FileTarget
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import Engine
from kurz.wiring.loader import open_loader
from kurz.wiring.portable import PortableWriter
from kurz.wiring.restore import BackupRestorer
from servers.fault_proxy import FaultProxy
from support.clicks import click, write_segment
from support.filled import dump, fill

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
END = b"pg_current_xact_id", b"COMMIT"  # there are others before


@pytest.fixture
def proxy(postgres) -> Iterator[FaultProxy]:
    with FaultProxy(postgres.port) as proxy:
        yield proxy


@pytest.fixture
async def backup(kurz, people, tmp_path) -> FileTarget:
    """With a secret, and a click that is not counted."""
    filled = await fill(kurz, people)
    write_segment(kurz.settings.journal_dir, click(filled.links["plain"].id))
    keep_secret(kurz.settings)
    target = FileTarget(tmp_path / "kurz.backup")
    writer = PortableWriter(replace(kurz.settings, secret=None))
    await asyncio.to_thread(writer.create, target, kurz.clock.now())
    return target


@pytest.fixture
def direct(kurz, make_database) -> Settings:
    """An empty database, without the proxy."""
    settings: Settings = kurz.settings
    folder = settings.data_dir.with_name("restored")
    return replace(settings, secret=None, data_dir=folder, database_url=make_database())


async def restore(kurz, direct, proxy, backup, asked_seconds=60.0) -> None:
    address = str(direct.database_url)
    host, _, name = address.rpartition("/")
    through = f"{host.rpartition(':')[0]}:{proxy.port}/{name}"
    settings = replace(direct, database_url=through)
    restorer = BackupRestorer(settings, asked_seconds=asked_seconds)
    await asyncio.to_thread(restorer.restore, backup, kurz.clock.now())


async def check_complete(kurz, settings: Settings) -> None:
    assert settings.secret_path.exists()
    async with open_kurz(settings, kurz.clock) as restored:
        assert len((await restored.database.read(dump))["links"]) == 7
        async with open_loader(restored) as loader:
            assert await loader.load_all() == 1


async def test_one_that_was_committed_is_complete(kurz, direct, proxy, backup):
    proxy.cut_at(*END, is_heard=True)
    await restore(kurz, direct, proxy, backup)
    await check_complete(kurz, direct)


async def test_one_that_was_not_committed_leaves_nothing(kurz, direct, proxy, backup, postgres):
    proxy.cut_at(*END, is_heard=False)
    with pytest.raises(StoreUnavailable) as caught:
        await restore(kurz, direct, proxy, backup)
    assert "unknown" not in caught.value.detail
    assert not direct.data_dir.exists()
    proxy.pass_on()
    await restore(kurz, direct, proxy, backup)
    await check_complete(kurz, direct)


@pytest.mark.parametrize("is_heard", [True, False])
async def test_one_that_may_have_been_committed_keeps_the_journals_and_says_what_to_do(
    kurz, direct, proxy, backup, is_heard
):
    proxy.cut_at(*END, is_heard=is_heard, stays=True)
    with pytest.raises(StoreUnavailable) as caught:
        await restore(kurz, direct, proxy, backup, asked_seconds=1.0)
    said = caught.value.detail
    assert f"Keep {direct.data_dir}" in said
    assert "kurz doctor" in said
    assert "\n" not in said
    assert direct.secret_path.exists()
    assert direct.journal_dir.exists()
    if is_heard:
        await check_complete(kurz, direct)


async def test_a_transaction_that_the_server_still_runs_is_ended(kurz, direct):
    """It has not noticed that the connection is gone."""
    engine = Engine(direct)
    lost = await asyncpg.connect(direct.database_url)
    try:
        await lost.execute("BEGIN")
        transaction = await lost.fetchval("SELECT pg_current_xact_id()::text::bigint")
        for ends in (False, True):
            assert await engine.run_alone(is_committed, transaction, ends=ends) is None
        while (found := await engine.run_alone(is_committed, transaction, ends=False)) is None:
            pass
        assert found is False
    finally:
        lost.terminate()
