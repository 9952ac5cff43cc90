"""What set-up says where something is missing, and what it leaves in the environment."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What set-up needs, in another folder."""
    folder = tmp_path / "project"
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def make(project: Path, target: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # Of the `make` that runs these tests, nothing.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", target],
        cwd=project,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", ["run", "test"])
def test_a_python_without_venv_is_told_the_package_in_one_line(project, tmp_path, target):
    """As Debian's and Ubuntu's: neither ensurepip nor pip."""
    python = tmp_path / "python"
    python.write_text(
        f"#!{sys.executable}\n"
        "import runpy, sys\n"
        "sys.modules['ensurepip'] = sys.modules['pip'] = None\n"
        "if sys.argv[1] == '-c': exec(sys.argv[2]); sys.exit()\n"
        "if sys.argv[1] == '-m': sys.exit('No module named ' + sys.argv[2])\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    python.chmod(0o755)
    told = make(project, target, PYTHON=str(python))
    assert told.returncode != 0
    [line] = [line for line in told.stderr.splitlines() if not line.startswith("make")]
    assert line == "kurz needs Python's venv. Debian and Ubuntu: apt install python3-venv"
    assert not (project / ".venv").exists()


def test_a_machine_without_python_is_told_the_packages_in_one_line(project, tmp_path):
    for name in ("make", "sh"):
        program = shutil.which(name)
        assert program is not None
        (tmp_path / name).symlink_to(program)
    told = make(project, "run", PATH=str(tmp_path))
    assert told.returncode != 0
    [line] = [line for line in told.stderr.splitlines() if not line.startswith("make")]
    assert line.startswith("kurz needs Python 3.11 or newer.")
    assert "apt install python3 python3-venv" in line


def test_pip_is_the_one_of_the_lock_and_there_is_no_setuptools():
    lock = (ROOT / "requirements" / "setup.lock").read_text()
    pinned = dict(re.findall(r"^([a-z]+)==(\S+)", lock, re.MULTILINE))
    assert {name: version(name) for name in pinned} == pinned
    with pytest.raises(PackageNotFoundError):
        version("setuptools")


def test_what_checks_a_change_installs_nothing():
    commands = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert commands[2:] == ["make check", "make test"]


def test_the_package_of_the_browser_is_pinned_by_hash_and_names_no_registry():
    text = (ROOT / "requirements" / "browser" / "package-lock.json").read_text()
    assert "://" not in re.sub(r'"url": "[^"]*"', "", text)
    packages = json.loads(text)["packages"]
    assert "node_modules/@sparticuz/chromium" in packages
    assert [
        name for name, it in packages.items() if name and not it["integrity"].startswith("sha512-")
    ] == []
