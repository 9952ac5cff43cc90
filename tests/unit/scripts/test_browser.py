"""Which browser the tests take: an installed one only if it works."""

import asyncio
import json
import platform
import subprocess
from pathlib import Path

import browser
import pytest
from web import ROOT

from support.browser import Browser, Chromium


def make_program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def working(tmp_path):
    """A program with a name of its own that starts the browser of the other tests."""
    options = browser.launch_options()
    assert options is not None
    variables = "\n".join(
        f"export {name}='{options['env'][name]}'"
        for name in ("LD_LIBRARY_PATH", "FONTCONFIG_PATH")
        if name in options["env"]
    )
    start = f'exec {options["executable_path"]} "$@"'
    return make_program(tmp_path, "google-chrome", f"{variables}\n{start}")


def test_an_installed_one_that_starts_is_taken(working):
    [launch] = browser.usable([working])
    assert launch["executable_path"] == str(working)


def test_a_stub_is_passed_over(tmp_path, working):
    stub = make_program(tmp_path, "chromium-browser", "echo 'Please install the snap.' >&2; exit 1")
    [launch] = browser.usable([stub, working])
    assert launch["executable_path"] == str(working)


def test_one_that_is_too_old_is_not_usable(working):
    launch = {"executable_path": str(working), "args": [], "env": {}}
    assert browser.why_not(launch) == ""
    assert browser.why_not(launch, oldest=9999).endswith("; the tests need 9999 or newer.")


def test_programs_are_looked_for_by_their_usual_names(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert browser.sorted_programs("") == []
    for name in ("google-chrome", "chromium"):
        make_program(tmp_path, name, "")
    assert [path.name for path in browser.sorted_programs("")] == ["chromium", "google-chrome"]


def test_another_choice_is_made_once_something_has_changed(tmp_path):
    choice = tmp_path / "browser.json"
    program = make_program(tmp_path, "chromium", "")
    state = browser.describe("", [program])
    assert not browser.is_chosen(state, choice)
    launch = {"executable_path": str(program), "args": [], "env": {}}
    choice.write_text(json.dumps({"state": state, "launch": launch}))
    assert browser.is_chosen(state, choice)
    assert browser.describe("package", []) != state
    make_program(tmp_path, "chromium", "exit 1")
    assert browser.describe("", [program]) != state
    program.unlink()
    assert not browser.is_chosen(state, choice)


@pytest.mark.parametrize("text", ["", '{"state": "', "[]", "7", "{}", '{"launch": {}}', "\udcff"])
def test_a_choice_that_cannot_be_read_is_none(tmp_path, text):
    choice = tmp_path / "browser.json"
    choice.write_bytes(text.encode(errors="surrogateescape"))
    assert not browser.is_chosen("state", choice)
    assert browser.launch_options(choice) is None


def test_a_choice_is_whole_and_leaves_nothing_else(tmp_path):
    choice = tmp_path / "browser.json"
    choice.write_text("an old one")
    before = choice.stat().st_ino
    found = {"state": "state", "launch": {"executable_path": "/bin/true", "args": [], "env": {}}}
    browser.save(found, choice)
    assert browser.load(choice) == found
    assert choice.stat().st_ino != before  # it was not written over
    assert list(tmp_path.iterdir()) == [choice]


@pytest.mark.parametrize("target", ["test", "test-faults"])
def test_only_the_tests_need_a_browser(target):
    assert "scripts/browser.py" in recipe(target)
    for other in "setup", "run", "check", "format", "openapi", "lock", "bench":
        assert "scripts/browser.py" not in recipe(other)


def recipe(target: str) -> str:
    """What `make` would do."""
    command = ["make", "--dry-run", "--no-print-directory", target]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stdout


def test_a_program_of_ones_own_that_does_not_start_is_refused(tmp_path, monkeypatch):
    stub = make_program(tmp_path, "mine", "exit 1")
    monkeypatch.setenv("KURZ_TEST_CHROMIUM", str(stub))
    with pytest.raises(SystemExit, match=r"KURZ_TEST_CHROMIUM: .*mine is not a Chromium"):
        browser.main(tmp_path / "browser.json")
    assert not (tmp_path / "browser.json").exists()


def test_a_machine_that_no_package_is_for_is_told_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("KURZ_TEST_CHROMIUM", "package")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(SystemExit, match="Install Chromium, or set KURZ_TEST_CHROMIUM"):
        browser.main(tmp_path / "browser.json")


def test_it_knows_a_language_where_the_system_has_none(chromium: Chromium):
    with Browser(chromium, bypasses_policy=False) as one:
        assert one.evaluate("new Intl.DateTimeFormat().resolvedOptions().locale") == "en-US"
        assert one.evaluate("navigator.language") == "en-US"


def test_the_browser_leaves_the_threads_of_tests_without_a_loop(chromium: Chromium):
    """Else no asynchronous test could follow in the same process."""
    chromium.run(asyncio.sleep(0))
    assert asyncio.run(asyncio.sleep(0, 7)) == 7
