"""Both Compose files are valid, and set what kurz knows.

Where Docker has its plugin `compose`, that reads them. Elsewhere they are compared with the schema
that it uses itself.
"""

import io
import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import pytest
import yaml

from kurz.settings.load import variable
from kurz.settings.model import fields
from support.observed import ROOT

FILES = sorted((ROOT / "deploy" / "compose").glob("*.yaml"))
MODULE = "github.com/compose-spec/compose-go/v2"
VERSION = "v2.9.0"


def has_plugin() -> bool:
    if shutil.which("docker") is None:
        return False
    asked = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return asked.returncode == 0


def compose_config(path: Path) -> list[str]:
    """What `docker compose` finds wrong."""
    env = {**os.environ, "KURZ_HOSTNAME": "go.example.com"}
    command = ["docker", "compose", "--file", str(path), "config", "--quiet"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.stderr.splitlines() if done.returncode else []


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Draft7Validator:
    address = f"https://proxy.golang.org/{MODULE}/@v/{VERSION}.zip"
    answer = httpx2.get(address, timeout=120).raise_for_status()
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        text = archive.read(f"{MODULE}@{VERSION}/schema/compose-spec.json")
    return jsonschema_rs.Draft7Validator(json.loads(text))


def services(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())["services"]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_compose_accepts_it(path, request):
    if has_plugin():
        assert compose_config(path) == []
        return
    schema = request.getfixturevalue("schema")
    content = yaml.safe_load(path.read_text())
    assert [error.message for error in schema.iter_errors(content)] == []
    content["services"]["caddy"]["prots"] = ["80:80"]
    assert [error.message for error in schema.iter_errors(content)] != []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_instance_has_settings_that_exist_and_a_volume_of_its_own(path):
    known = {variable(item.name) for item in fields()}
    instances = {name: it for name, it in services(path).items() if name.startswith("kurz")}
    assert len(instances) == (1 if path.name == "single.yaml" else 2)
    for it in instances.values():
        assert {name.removesuffix("_FILE") for name in it["environment"]} <= known
        assert it["read_only"] is True
    volumes = [it["volumes"] for it in instances.values()]
    assert len({str(it) for it in volumes}) == len(volumes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_trusted_network_is_the_one_of_the_containers(path):
    content = yaml.safe_load(path.read_text())
    [network] = content["networks"]["default"]["ipam"]["config"]
    for name, it in services(path).items():
        if name.startswith("kurz"):
            assert it["environment"]["KURZ_TRUSTED_PROXIES"] == network["subnet"]
        if name == "caddy":
            upstreams = it["environment"]["KURZ_UPSTREAMS"].split()
            assert upstreams == [f"{each}:8080" for each in services(path) if "kurz" in each]
