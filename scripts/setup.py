"""Sets up `.venv` in the project folder: `setup.py run` for the program, `setup.py dev` for tests.

Needs Python 3.11 or newer with `venv`, and nothing else; does nothing when all is in place.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PIP = [str(PYTHON), "-m", "pip", "install", "--quiet"]
PIP += ["--disable-pip-version-check", "--no-input", "--no-warn-script-location"]
# Installs in seconds, where pip takes a minute.
UV = [str(PYTHON), "-m", "uv", "pip", "install", "--quiet", "--python", str(PYTHON)]


def main() -> None:
    wanted = sys.argv[1]
    if is_installed(wanted):
        return
    print(f"Setting up .venv ({wanted}) …", flush=True)
    if not is_usable():
        make_venv()
    run(*PIP, *locked("setup"))
    remove_setuptools()
    if call(*UV, "--compile-bytecode", *locked(wanted)):
        print("pip may know a way to the packages that uv does not; it takes longer.", flush=True)
        run(*PIP, *locked(wanted))
    run(*PIP, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    # An environment may forbid writing bytecode; without it every start costs a second more.
    run(str(PYTHON), "-m", "compileall", "-q", str(ROOT / "src"))
    stamp("run").write_text(fingerprint("run"))  # the dev lock holds the same versions and more
    if wanted == "dev":
        stamp("dev").write_text(fingerprint("dev"))


def is_installed(wanted: str) -> bool:
    path = stamp(wanted)
    return path.exists() and path.read_text() == fingerprint(wanted) and is_usable()


def stamp(wanted: str) -> Path:
    return VENV / f".installed-{wanted}"


def fingerprint(wanted: str) -> str:
    """Changes when another install is needed: other versions, another place, another Python."""
    digest = hashlib.sha256(f"{ROOT} {sys.version}".encode())
    for name in ("requirements/setup.lock", f"requirements/{wanted}.lock", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def is_usable() -> bool:
    """False when there is no environment here, or one whose Python is gone or too old."""
    if not PYTHON.exists():
        return False
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([PYTHON, "-c", check], capture_output=True, check=False).returncode == 0


def make_venv() -> None:
    """Debian and Ubuntu keep what puts pip into it in a package of its own."""
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit("kurz needs Python's venv. Debian and Ubuntu: apt install python3-venv")
    venv.create(VENV, clear=True, symlinks=True, with_pip=True)


def remove_setuptools() -> None:
    """Older Pythons put an old one beside pip; nothing here needs it."""
    find = "import importlib.util as it, sys; sys.exit(it.find_spec('setuptools') is None)"
    if not call(str(PYTHON), "-c", find):
        run(str(PYTHON), "-m", "pip", "--quiet", "uninstall", "--yes", "setuptools")


def locked(name: str) -> list[str]:
    return ["--require-hashes", "--requirement", str(ROOT / "requirements" / f"{name}.lock")]


def run(*command: str) -> None:
    if call(*command):
        sys.exit(f"Set-up failed: {' '.join(command)}")


def call(*command: str) -> int:
    """Its exit code."""
    # A PYTHONPATH or an active environment of the caller must not leak into ours.
    env = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    env.setdefault("UV_SYSTEM_CERTS", "1")  # as pip does
    return subprocess.run(command, env=env, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    if sys.version_info < (3, 11):
        sys.exit("kurz needs Python 3.11 or newer.")
    main()
