"""Links whose destination changes behind kurz's back, as bits on a disk do."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from kurz.settings.model import Settings
from kurz.storage.engine.sqlite import default_driver
from kurz.storage.links.verifying import VerifiedLinks, verify_links
from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz
from support.migrations import read


async def verified(kurz: Kurz) -> VerifiedLinks:
    return await kurz.database.read(verify_links)


async def paths(kurz: Kurz) -> list[str]:
    """Of the damaged links."""
    found = await verified(kurz)
    assert found.damaged == len(found.named)
    return sorted(found.path_of(it) for it in found.named)


def spoil(code: str, **values: object) -> Callable[[sa.Connection], None]:
    """Changes columns of a link, and leaves its checksum as it is."""

    def change(connection: sa.Connection) -> None:
        are_it = links.c.short_code == code
        checksum = connection.execute(sa.select(links.c.checksum).where(are_it)).scalar_one()
        # If both change, the trigger for older versions leaves them alone.
        change = {**values, "checksum": b"other"}
        assert connection.execute(sa.update(links).where(are_it).values(change)).rowcount == 1
        connection.execute(sa.update(links).where(are_it).values(checksum=checksum))

    return change


async def spoil_stored(settings: Settings, code: str, **values: object) -> None:
    await read(settings, spoil(code, **values))


def copy_file(source: Path, target: Path) -> None:
    """All that is in a database and its log, in one file."""
    with closing(default_driver.connect(source)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))


def flip(path: Path, text: bytes) -> int:
    """Flips a bit in each text that the file stores like this, in another place each time; returns
    how many there are."""
    data = bytearray(path.read_bytes())
    count, at = 0, data.find(text)
    while at >= 0:
        data[at + count % len(text)] ^= 1
        count, at = count + 1, data.find(text, at + 1)
    path.write_bytes(data)
    return count
