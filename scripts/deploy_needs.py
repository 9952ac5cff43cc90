"""Says what `make test-deploy` needs and this machine lacks; exits with 1 if any is missing."""

import os
import shutil
import sys

# Programs, and the packages of Debian 12 that have them.
PROGRAMS = {
    "buildah": "buildah",
    "caddy": "caddy",
    "haproxy": "haproxy",
    "mmdebstrap": "mmdebstrap",
    "nginx": "nginx-light",
    "podman": "podman",
    "promtool": "prometheus",
    "runc": "runc",
    "strace": "strace",
    "systemd-analyze": "systemd",
}
HELM = "go install helm.sh/helm/v3/cmd/helm@v3.19.2"


def complaints() -> list[str]:
    found = []
    if os.geteuid() != 0:
        found.append("It builds and runs a container, which needs root here: run it with sudo.")
    if missing := sorted({it for name, it in PROGRAMS.items() if not shutil.which(name)}):
        found.append(
            f"Programs are missing. Debian 12: apt-get install --no-install-recommends"
            f" {' '.join(missing)}"
        )
    if not shutil.which("helm"):
        found.append(
            f"helm is missing, which Debian does not have. With Go: GOBIN=/usr/local/bin {HELM}"
        )
    return found


if __name__ == "__main__":
    if found := complaints():
        sys.exit("make test-deploy cannot run yet.\n" + "\n".join(found))
