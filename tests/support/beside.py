"""Processes that work on the data of a test, to be killed by it."""

import os
import subprocess
import sys
from pathlib import Path

from kurz.wiring.core import Kurz


def start_beside(kurz: Kurz, module: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    """Runs a module of the tests until it is ready to work."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=Path(__file__).parents[1],
        env={**inherited, "KURZ_DATA_DIR": str(kurz.settings.data_dir), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process
