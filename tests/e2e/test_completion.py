"""The scripts of `kurz completion`. Those for zsh and fish are read, that for bash is run."""

import subprocess
from functools import cache

import pytest
import typer

from kurz.cli.app import app
from kurz.cli.completion import walk
from support.terminal import Terminal

NODES = list(walk(typer.main.get_command(app), "kurz"))
ASK = """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kurz; printf '%s\\n' "${COMPREPLY[@]}"
"""


@cache
def script(shell: str) -> str:
    return Terminal({}).do("completion", shell)


def complete(*words: str) -> set[str]:
    asked = ["bash", "-c", script("bash") + ASK, "bash", *words]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_every_command_and_option_is_completed_in_bash():
    assert len(NODES) > 40
    for node in NODES[:: len(NODES) // 10]:
        names = {name for option in node.options for name in option.names}
        assert complete(*node.path.split(" "), "") == {*node.commands, *names}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["kurz", "doc"], {"doctor"}),
        (["kurz", "admin", "k"], {"key"}),
        (["kurz", "serve", "--po"], {"--port"}),
        (["kurz", "create", "trash", "--expires-i"], {"--expires-in"}),
        (["kurz", "import", "links.csv"], set()),  # then the shell completes files
    ],
)
def test_words_are_completed_by_the_command_before_them(words, found):
    assert complete(*words) == found


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_both_of_them_know_every_command(shell):
    text = script(shell)
    assert ("bashcompinit" in text) == (shell == "zsh")
    for node in NODES:
        known = [*node.commands, *(name for option in node.options for name in option.names)]
        assert f'"{node.path}") known="{" ".join(known)}" ;;' in text


def test_fish_shows_what_each_is_for():
    text = script("fish")
    at_key = "complete -c kurz -n 'test (__kurz_path) = \"kurz admin key\"'"
    assert f"{at_key} -f -a list -d 'List a user\\'s API keys.'" in text
    at_serve = "complete -c kurz -n 'test (__kurz_path) = \"kurz serve\"'"
    assert f"{at_serve} -l port -r -d 'Port to listen on.'" in text
    for node in NODES:
        assert text.count(f'= "{node.path}"') == len(node.commands) + len(node.options)


def test_an_unknown_shell_is_refused():
    done = Terminal({}).run("completion", "tcsh")
    assert done.returncode == 2
    assert "tcsh" in done.stderr
