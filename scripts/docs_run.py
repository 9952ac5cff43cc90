"""Runs every command of an install page in an empty folder, as a reader would, and fails unless it
ends with a followed link. `docs_run.py pip|container|cluster`. It needs the network.

What is not as a reader has it is printed first, and what was not run last.
"""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from support.documents import Block, blocks_of
from support.reader import Failed, Reader

ROOT = Path(__file__).resolve().parent.parent
GUIDES = ROOT / "docs" / "guides"
PAGES = {"pip": "installing.md", "container": "containers.md", "cluster": "cluster.md"}
PORTS = {"pip": [8080], "container": [8080, 80, 443], "cluster": [80, 443]}
PIPX = "pipx==1.18.4"
NEEDED = ("buildah", "mmdebstrap", "podman", "runc", "netavark", "aardvark-dns")
# What the pages make, and nothing else: this was checked to be absent before.
CLEAN = """
docker ps --all --quiet --filter name=^kurz | xargs -r docker rm --force --volumes
docker volume ls --quiet | grep ^kurz | xargs -r docker volume rm
docker network ls --format '{{.Name}}' | grep ^kurz_ | xargs -r docker network rm
"""
FOUND = """
docker ps --all --format '{{.Names}}' --filter name=^kurz
docker volume ls --quiet | grep ^kurz
"""


def main(name: str) -> None:
    blocks = blocks_of(GUIDES / PAGES[name])
    require_free(PORTS[name])
    with ExitStack() as closing:
        whole = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="kurz-docs-")))
        source = copy_of_source(whole / "source")
        programs = whole / "programs"
        programs.mkdir()
        provide = provide_installers if name == "pip" else provide_docker
        print(f"{PAGES[name]}: these are not what a reader has:")
        print(f"- the folder kurz is a copy of {ROOT}")
        for line in provide(programs, closing):
            print(f"- {line}")
        for alternative in alternatives(blocks):
            follow(name, chosen(blocks, alternative), alternative, source, programs)


def alternatives(blocks: list[Block]) -> list[str | None]:
    """What the reader can choose from: the page is run once for each."""
    return list(dict.fromkeys(it.alternative for it in blocks if it.alternative)) or [None]


def chosen(blocks: list[Block], alternative: str | None) -> list[Block]:
    return [block for block in blocks if block.alternative in (None, alternative)]


def follow(
    name: str, blocks: list[Block], alternative: str | None, source: Path, programs: Path
) -> None:
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="reader-", dir=source.parent))
    (folder / "kurz").symlink_to(source)
    home = folder.with_name(f"{folder.name}-home")
    home.mkdir()
    print(f"\n{name}{f' with {alternative}' if alternative else ''}:", flush=True)
    replace = {"/opt/kurz": f"{home}/opt-kurz"} if name == "pip" else {}
    environment = environment_of_reader(home, programs)
    reader = Reader(folder, environment, replace, lambda line: print(line, flush=True))
    try:
        reader.read(blocks)
        reader.stop()
    except Failed as failure:
        print(f"{PAGES[name]}: {failure}", file=sys.stderr)
        sys.exit(1)
    finally:
        reader.abandon()
        if name != "pip":
            call(CLEAN, environment)
    for command in reader.not_run:
        print(f"not run: {command.text.splitlines()[0]} ({command.not_run})")
    followed = reader.last_output.split("\n", 1)[0].strip()
    print(f"It ends with a followed link ({followed}), after {time.monotonic() - began:.0f} s.")


def environment_of_reader(home: Path, programs: Path) -> dict[str, str]:
    """A home that is empty, and nothing of the environment of kurz itself."""
    dropped = ("KURZ_", "VIRTUAL_ENV", "PYTHON", "MAKE", "MFLAGS", "UV_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    path = f"{programs}:{os.environ['PATH']}"
    return kept | {"HOME": str(home), "PATH": path, "UV_SYSTEM_CERTS": "1"}


def provide_installers(programs: Path, _: ExitStack) -> list[str]:
    uv = [sys.executable, "-m", "uv"]
    write_program(programs / "uv", uv)
    write_program(programs / "pipx", [*uv, "tool", "run", "--quiet", "--from", PIPX, "pipx"])
    return [f"uv is that of {ROOT.name}/.venv, and runs {PIPX}", "/opt/kurz is another folder"]


def provide_docker(programs: Path, closing: ExitStack) -> list[str]:
    """The real Docker, if there is one."""
    if subprocess.run(["docker", "compose", "ls"], capture_output=True, check=False).returncode:
        lines = replace_docker(programs, closing)
    else:
        lines = ["nothing else: Docker is the one of this machine"]
    environment = environment_of_reader(programs, programs)
    if found := call(FOUND, environment).split():
        sys.exit(f"Remove these first, because the page would change them: {', '.join(found)}")
    return lines


def replace_docker(programs: Path, closing: ExitStack) -> list[str]:
    from support import debian_images, docker_by_podman

    path = f"{os.environ['PATH']}:/usr/lib/podman"
    if missing := [it for it in NEEDED if not shutil.which(it, path=path)]:
        sys.exit(
            "Docker with Compose is needed. Or, as root on Debian 12: apt-get install"
            f" --no-install-recommends {' '.join(missing)}"
        )
    print("Making images of Debian's packages …", flush=True)
    debian_images.make_base()
    names = debian_images.make_stand_ins()
    closing.callback(debian_images.remove_stand_ins)  # nobody is to take them for the real ones
    program = [sys.executable, str(Path(docker_by_podman.__file__)), str(programs)]
    write_program(programs / "docker", ["env", f"PYTHONPATH={ROOT / 'tests'}", *program])
    return [
        f"docker is Podman and Buildah, and docker compose is {docker_by_podman.COMPOSE}",
        "the image is built on Debian's Python",
        f"images of Debian's packages are in place of {', '.join(names)}",
        "limits on open files are lower, and Podman does not run the health checks",
    ]


def write_program(path: Path, command: list[str]) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)


def copy_of_source(target: Path) -> Path:
    """With what is not committed yet, but without what was built."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def require_free(ports: list[int]) -> None:
    for port in ports:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                sys.exit(f"Another program uses port {port}, which the page needs.")


def call(script: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout


if __name__ == "__main__":
    if sys.argv[1:] not in [[name] for name in PAGES]:
        sys.exit(f"Say which page: make docs-run PAGE={'|'.join(PAGES)}")
    main(sys.argv[1])
