"""A blocklist, somebody with links, and the job."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from kurz.jobs.rescreen import Screening
from kurz.settings.model import Settings
from kurz.storage.schema.people import accounts
from kurz.wiring.core import Kurz
from support.endings import OWNER, write
from support.engines import without_redis
from support.screening import make_job

engine = without_redis  # which has no part in it


@pytest.fixture
def blocklist(tmp_path: Path) -> Path:
    path = tmp_path / "block.txt"
    path.write_text("bad.example\n")
    return path


@pytest.fixture
def settings(settings: Settings, blocklist: Path) -> Settings:
    return replace(settings, blocklists=(blocklist,))


@pytest.fixture(autouse=True)
async def owner(kurz: Kurz) -> None:
    account = {"id": OWNER, "email": "o@example.com", "password_hash": "", "is_admin": False}
    await write(kurz, sa.insert(accounts).values(**account, epoch=0, created_at=0))


@pytest.fixture
def job(kurz: Kurz) -> Screening:
    return make_job(kurz)
