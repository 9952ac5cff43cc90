"""Images of Debian's packages, for machines that reach no registry: the base of our own image, and
stand-ins for those that the Compose files name. As root.
"""

import subprocess
from pathlib import Path

import yaml

from support.observed import ROOT

PODMAN = ["podman", "--runtime=runc", "--cgroup-manager=cgroupfs"]
BUILD = ["buildah", "build", "--isolation=chroot", "--format=docker"]
# Containers also run inside another container with these.
RUN = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]
RUN += ["--health-interval=disable"]  # the timer would need systemd
# As the system's, also where it trusts a certificate of its own.
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"

BASE_IMAGE = "localhost/kurz-test-base"
_BASE_PACKAGES = ["python3", "python3-venv", "ca-certificates", "libstdc++6"]
_SERVICES_IMAGE = "localhost/kurz-test-services"
_SERVICES_PACKAGES = ["caddy", "postgresql", "redis-server", "ca-certificates"]
_STAND_INS = ROOT / "tests" / "data" / "images"
_KEPT = ROOT / ".venv" / "deploy"


def call(*command: str | Path, is_checked: bool = True) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if is_checked:
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def make_base() -> None:
    _debian("base", BASE_IMAGE, _BASE_PACKAGES)


def make_stand_ins() -> list[str]:
    """Their names, as the Compose files have them."""
    _debian("services", _SERVICES_IMAGE, _SERVICES_PACKAGES)
    names = sorted(_named_images())
    for name in names:
        kind = name.rpartition("/")[2].partition(":")[0]
        file = f"--file={_STAND_INS / kind}.Dockerfile"
        build = f"--build-arg=DEBIAN={_SERVICES_IMAGE}"
        call(*BUILD, f"--tag={name}", file, build, _STAND_INS)
    return names


def remove_stand_ins() -> None:
    call(*PODMAN, "rmi", "--force", *_named_images(), is_checked=False)


def options_of_builds(settings: Path) -> list[str]:
    """Those with which our image is built on that base. `settings` is a file for pip."""
    settings.write_text(f"[global]\ncert = {CERTIFICATES}\ndisable-pip-version-check = true\n")
    trusted = [
        f"--volume={CERTIFICATES}:{CERTIFICATES}:ro",
        f"--volume={settings}:/etc/pip.conf:ro",
    ]
    return [*trusted, f"--build-arg=BASE={BASE_IMAGE}"]


def _debian(name: str, image: str, packages: list[str]) -> None:
    path = _KEPT / f"{name}.tar"
    if not path.exists():
        _KEPT.mkdir(exist_ok=True)
        part = path.with_suffix(".part.tar")
        options = ["--quiet", "--variant=essential", f"--include={','.join(packages)}"]
        call("mmdebstrap", *options, "bookworm", part)
        part.rename(path)
    call(*PODMAN, "import", "--quiet", path, image)


def _named_images() -> set[str]:
    """Those of the Compose files that others publish."""
    files = (ROOT / "deploy" / "compose").glob("*.yaml")
    services = [
        it for file in files for it in yaml.safe_load(file.read_text())["services"].values()
    ]
    return {it["image"] for it in services} - {"kurz"}
