"""The wheel and the source archive work with every installer that the guide names."""

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import dist
import pytest

import kurz
from support.installed import InstalledProgram, assert_followed, assert_has_dashboard, create_link

PIPX = "pipx==1.18.4"
CYCLONEDX = "cyclonedx-bom==7.5.0"  # brings the validator of the format's own library
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for path in sys.argv[1:]:
    mistake = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(path).read())
    assert mistake is None, f"{path}: {mistake}"
"""

Install = Callable[[Path, Path], Path]

# Installing everything from the network takes its time.
pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    dist.main(folder)
    return folder


def run(*command: str | Path, **variables: str) -> None:
    """Without what the environment of these tests sets for its own Python."""
    env = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    env |= {"UV_SYSTEM_CERTS": "1", **variables}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def uv(*arguments: str | Path, **variables: str) -> None:
    run(sys.executable, "-m", "uv", *arguments, **variables)


def by_pip(package: Path, folder: Path) -> Path:
    venv.create(folder, with_pip=True, symlinks=True)
    run(folder / "bin" / "pip", "install", "--quiet", package)
    return folder / "bin" / "kurz"


def by_uv_tool(package: Path, folder: Path) -> Path:
    places = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    uv("tool", "install", "--python", sys.executable, package, **places)
    return folder / "bin" / "kurz"


def by_pipx(package: Path, folder: Path) -> Path:
    places = {"PIPX_HOME": str(folder / "home"), "PIPX_BIN_DIR": str(folder / "bin")}
    places["PIPX_DEFAULT_PYTHON"] = sys.executable
    uv("tool", "run", "--from", PIPX, "pipx", "install", package, **places)
    return folder / "bin" / "kurz"


@pytest.mark.parametrize("kind", ["wheel", "archive"])
@pytest.mark.parametrize("install", [by_pip, by_uv_tool, by_pipx])
def test_it_installs_and_serves(install: Install, kind: str, built, tmp_path):
    pattern = "kurz-*.whl" if kind == "wheel" else "kurz-*.tar.gz"
    [package] = built.glob(pattern)
    program = install(package, tmp_path / "installed")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert kurz.__version__ in version.stdout
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    server = InstalledProgram([program], {"KURZ_DATA_DIR": str(data)}, tmp_path / "log")
    server.start()
    try:
        assert_followed(server, create_link(server))
        assert_has_dashboard(server)
    finally:
        assert server.stop() == 0


def test_the_bills_of_materials_are_valid(built):
    boms = sorted(built.glob("*.cdx.json"))
    assert len(boms) == 2
    uv("tool", "run", "--from", CYCLONEDX, "python", "-c", VALIDATE, *boms)
