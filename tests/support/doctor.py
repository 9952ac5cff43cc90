"""What `kurz doctor` finds."""

import asyncio

from kurz.cli.findings import examine
from kurz.settings.load import LoadedSettings
from kurz.settings.model import Settings


async def findings_about(settings: Settings, about: str) -> list[tuple[str, str]]:
    """The verdict and the sentence of each."""
    loaded = LoadedSettings(settings, {"access": "default"}, ())
    found = await asyncio.to_thread(examine, loaded)
    return [(str(item.verdict), item.says) for item in found if item.about == about]
