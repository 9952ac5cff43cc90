"""An archive in a folder or a bucket, on both engines."""

from dataclasses import replace

import pytest

from kurz.transfer.archiving import Archiver
from support.archive import archiver_of
from support.engines import without_redis

engine = without_redis  # which has no part in it


@pytest.fixture
def settings(settings, archive_settings):
    return replace(settings, **archive_settings)


@pytest.fixture
async def archiver(kurz) -> Archiver:
    return await archiver_of(kurz)
