"""The version of kurz before this one."""

import io
import subprocess
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "data" / "previous_version.txt"


def previous_version() -> tuple[str, str]:
    """Its number, and the commit that it is built from."""
    number, commit = FILE.read_text().splitlines()[-1].split()
    return number, commit


def unpack_previous(folder: Path) -> str:
    """Its source, without a dashboard; gives the folder to import it from."""
    _, commit = previous_version()
    command = ["git", "archive", "--format=zip", commit, "src/kurz"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, f"a clone with its history is needed: {done.stderr.decode()}"
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder)
    return str(folder / "src")
