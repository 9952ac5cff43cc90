"""The program `docker`, as far as the documents use it, by Podman, Buildah and podman-compose.

`docker_by_podman.py FOLDER …` runs `docker …`; FOLDER is for its settings. Two options are left
out: Podman may not be allowed to raise the limit on open files, and mistakes which containers need
which others. podman-compose starts them in order anyway.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from support.debian_images import BUILD, PODMAN, RUN, options_of_builds

COMPOSE = "podman-compose==1.6.0"
# Container names become host names with this one only.
_NETWORK = '[network]\nnetwork_backend = "netavark"\n'
_LEFT_OUT = ("--ulimit", "--requires")


def main(folder: Path, arguments: list[str]) -> None:
    command = command_for(folder, arguments)
    settings = folder / "containers.conf"
    settings.write_text(_NETWORK)
    os.environ["CONTAINERS_CONF"] = str(settings)
    os.environ.pop("PYTHONPATH", None)
    os.execvp(command[0], command)  # noqa: S606  no shell is needed


def command_for(folder: Path, arguments: list[str]) -> list[str]:
    match arguments:
        case ["compose", *rest]:
            path = f"--podman-path={folder / 'docker'}"
            uv = [sys.executable, "-m", "uv", "tool", "run", "--quiet", "--from", COMPOSE]
            return [*uv, "podman-compose", path, *rest]
        case ["build", *rest]:
            return [*BUILD, *options_of_builds(folder / "pip.conf"), *rest]
        case ["run" | "create" as verb, *rest]:
            return [*PODMAN, verb, *RUN, *_possible(rest)]
    return [*PODMAN, *arguments]


def _possible(options: list[str]) -> Iterator[str]:
    waiting = iter(options)
    for option in waiting:
        name, equals, _ = option.partition("=")
        if name not in _LEFT_OUT:
            yield option
        elif not equals:
            next(waiting)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
