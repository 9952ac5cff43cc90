"""Builds the wheel and the source archive into `dist/`, each with the dashboard inside, and a bill
of materials for either part. `dist.py FOLDER` builds into another folder.

The wheel is built from the archive, so installing either gives the same files.
"""

import subprocess
import sys
from pathlib import Path

from sbom import ROOT, python_bom, web_bom

import kurz


def main(folder: Path) -> None:
    for old in folder.glob("kurz-*"):
        old.unlink()
    # Built with the pinned versions of this environment.
    command = [sys.executable, "-m", "uv", "build", "--quiet", "--no-build-isolation"]
    command += ["--python", sys.executable, "--out-dir", str(folder), str(ROOT)]
    if subprocess.run(command, check=False).returncode:
        sys.exit("The build failed, for the reason above.")
    version = kurz.__version__
    (folder / f"kurz-{version}-python.cdx.json").write_text(python_bom())
    (folder / f"kurz-{version}-web.cdx.json").write_text(web_bom(version))
    for path in sorted(folder.glob("kurz-*")):
        print(f"{path.stat().st_size:>10,}  {path.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
