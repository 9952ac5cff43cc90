"""The unit for systemd is valid and hardened, and kurz works with what it allows."""

import re
import subprocess
from pathlib import Path

import pytest

import kurz
from support.installed import InstalledProgram, assert_followed, create_link
from support.program import KURZ

pytestmark = pytest.mark.timeout(3600)  # a tracer takes its time on a busy machine
UNIT = Path(kurz.__file__).parents[2] / "deploy" / "systemd" / "kurz.service"
# SQLite then gives its files to the owner of the database. The service does not run as root.
ONLY_AS_ROOT = {"fchown"}
# What MemoryDenyWriteExecute forbids, the kernel forbids a process that asked for it.
DENY_WRITE_EXECUTE = """
import ctypes, os, sys
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
assert ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0, "Linux 6.3"
os.execv(sys.argv[1], sys.argv[1:])
"""


def analyse(*arguments: str | Path) -> str:
    done = subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_it_is_valid(tmp_path):
    unit = tmp_path / "kurz.service"
    text = UNIT.read_text()
    assert "ExecStart=/opt/kurz/bin/kurz serve" in text
    unit.write_text(text.replace("/opt/kurz/bin/kurz", str(KURZ)))  # it has to exist
    assert analyse("verify", unit) == ""


def test_it_is_hardened():
    report = analyse("security", "--offline=true", "--threshold=20", "--no-pager", UNIT)
    [level] = re.findall(r"Overall exposure level for kurz\.service: ([\d.]+)", report)
    assert float(level) <= 2.0


def calls_of(group: str) -> set[str]:
    """The system calls of a group, which may contain other groups."""
    if not group.startswith("@"):
        return {group}
    lines = analyse("syscall-filter", group).splitlines()[1:]
    names = [line.strip() for line in lines if line.strip() and "#" not in line]
    return {call for name in names for call in calls_of(name)}


def allowed_calls() -> set[str]:
    allowed: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.+)$", UNIT.read_text(), re.MULTILINE):
        calls = {call for group in line.lstrip("~").split() for call in calls_of(group)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return {"KURZ_DATA_DIR": str(folder)}


def use(program: InstalledProgram) -> None:
    """A link, a password, and a stop."""
    try:
        program.set_up("ada@example.com", "correct horse battery")
        assert_followed(program, create_link(program))
    finally:
        assert program.stop() == 0


def test_every_system_call_of_kurz_is_allowed(data, tmp_path):
    trace = tmp_path / "calls"
    # -D: the process that was started is kurz, and not the one that watches it.
    command = ["strace", "-D", "-f", "-qq", "-c", "-o", str(trace), str(KURZ)]
    use(InstalledProgram(command, data, tmp_path / "log").start())
    rows = [line.split() for line in trace.read_text().splitlines()]
    calls = {row[-1] for row in rows if len(row) in (5, 6) and row[3].isdigit()} - {"total"}
    assert {"execve", "setpriority", "epoll_wait"} <= calls
    assert calls - allowed_calls() - ONLY_AS_ROOT == set()


def test_kurz_needs_no_memory_that_is_writable_and_executable(data, tmp_path):
    command = ["python3", "-c", DENY_WRITE_EXECUTE, str(KURZ)]
    use(InstalledProgram(command, data, tmp_path / "log").start())
