"""Compose accepts both files, and they agree with the rest of the project."""

import os
import subprocess

import pytest
import yaml

from kurz.settings.load import variable
from kurz.settings.model import fields
from support.observed import ROOT

FOLDER = ROOT / "deploy" / "compose"
FILES = sorted(FOLDER.glob("*.yaml"))


def config(path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker-compose", "--file", path, "config"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_compose_accepts_it(path):
    done = config(path, KURZ_HOSTNAME="go.example.com")
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    instances = [it for name, it in services.items() if name.startswith("kurz")]
    assert len(instances) == (1 if path.name == "single.yaml" else 2)
    for it in instances:
        assert it["environment"]["KURZ_BASE_URL"] == "https://go.example.com"
        assert it["read_only"] is True


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_says_that_the_host_is_missing(path):
    done = config(path)
    assert done.returncode != 0
    assert "Set it to the host of your short links" in done.stderr


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_sets_what_kurz_knows(path):
    known = {variable(item.name) for item in fields()}
    services = yaml.safe_load(path.read_text())["services"]
    for name, service in services.items():
        if name.startswith("kurz"):
            used = {it.removesuffix("_FILE") for it in service["environment"]}
            assert used <= known
