"""Builds the image of deploy/Dockerfile and runs it, as root and without a registry.

The base image is made of Debian's packages. The options are those with which containers also run
inside another container: `chroot` for building, `runc` with few limits for running.
"""

import subprocess
from pathlib import Path

from support.debian_images import (
    BASE_IMAGE,
    BUILD,
    PODMAN,
    RUN,
    call,
    make_base,
    options_of_builds,
)

IMAGE = "localhost/kurz-test"


def build(folder: Path) -> None:
    make_base()
    options = options_of_builds(folder / "pip.conf")
    call(*BUILD, f"--tag={IMAGE}", *options, "--file=deploy/Dockerfile", ".")


def remove() -> None:
    call(*PODMAN, "rmi", "--force", IMAGE, BASE_IMAGE, is_checked=False)


class Container:
    """One that runs `kurz serve` on a port of this machine, with a read-only root file system."""

    def __init__(self, name: str, data: Path, port: int, *options: str) -> None:
        self._name = name
        self._data = data
        self._port = port
        self._options = options

    def start(self) -> None:
        call(*PODMAN, "run", "--detach", f"--name={self._name}", *self._arguments())

    def start_again(self) -> None:
        call(*PODMAN, "start", self._name)

    def _arguments(self) -> list[str]:
        mounts = [f"--volume={self._data}:/data", f"--env=KURZ_PORT={self._port}"]
        return [
            *RUN,
            "--network=host",
            "--read-only",
            "--cap-drop=all",
            *mounts,
            *self._options,
            IMAGE,
        ]

    def run(self, *command: str, is_checked: bool = True) -> str:
        """Inside."""
        return call(*PODMAN, "exec", self._name, *command, is_checked=is_checked)

    def is_running(self) -> bool:
        shown = call(*PODMAN, "inspect", "--format={{.State.Status}}", self._name)
        return shown.strip() == "running"

    def log(self) -> str:
        return call(*PODMAN, "logs", self._name)

    def is_healthy(self) -> bool:
        command = [*PODMAN, "healthcheck", "run", self._name]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def kill(self) -> None:
        call(*PODMAN, "kill", self._name)
        call(*PODMAN, "wait", self._name)

    def stop(self) -> int:
        """Its exit code."""
        call(*PODMAN, "stop", "--time=60", self._name)
        return int(call(*PODMAN, "wait", self._name))

    def remove(self) -> None:
        call(*PODMAN, "rm", "--force", self._name, is_checked=False)
