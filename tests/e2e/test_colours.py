"""Escape sequences go to terminals that know them, and to nobody who wants none."""

import pytest

from support.terminal import Terminal


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kurz") / "data"
    terminal = Terminal({"KURZ_DATA_DIR": str(folder)})
    assert terminal.run("migrate").returncode == 0
    terminal.do("create", "https://example.com/", "--code", "shown")
    return folder


def screen(folder, *command: str, **environment: str) -> str:
    inherited = {"KURZ_DATA_DIR": str(folder), "TERM": "xterm", "NO_COLOR": ""}
    _, shown = Terminal(inherited | environment).type_at(*command, answers=[])
    return shown


@pytest.mark.parametrize(
    "command", ["list", "doctor", "show nothing", "stats", "migrate", "export -"]
)
def test_nobody_gets_escapes_who_wants_none(folder, command):
    words = command.split(" ")
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        shown = screen(folder, *words, **environment)
        assert shown
        assert "\x1b" not in shown


def test_a_terminal_gets_them(folder):
    assert "\x1b[" in screen(folder, "list")
    assert "\x1b[" in screen(folder, "show", "nothing")
