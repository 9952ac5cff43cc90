"""The bills of materials name what is shipped, and nothing that only builds or tests it."""

import json
import re
from typing import Any

import pytest
import sbom
from sbom import ROOT

import kurz

Bom = dict[str, Any]


def of_kind(kind: str) -> Bom:
    text = sbom.python_bom() if kind == "python" else sbom.web_bom(kurz.__version__)
    found: Bom = json.loads(text)
    return found


def names(bom: Bom) -> set[str]:
    return {it["name"] for it in bom["components"]}


def test_that_of_python_has_the_locked_versions():
    lock = (ROOT / "requirements" / "run.lock").read_text()
    locked = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", lock, re.MULTILINE))
    found = of_kind("python")["components"]
    assert len(found) > 40
    assert [it["name"] for it in found if locked[it["name"]] != it["version"]] == []
    assert "hatchling" not in names(of_kind("python"))


def test_that_of_the_dashboard_has_what_is_loaded_in_a_browser():
    found = of_kind("web")
    assert {"react", "@mantine/core", "uplot"} <= names(found)
    assert not {"vite", "typescript", "vitest"} & names(found)
    [core] = [it for it in found["components"] if it["name"] == "@mantine/core"]
    assert core["purl"] == f"pkg:npm/%40mantine/core@{core['version']}"
    assert re.fullmatch(r"[0-9a-f]{128}", core["hashes"][0]["content"])


@pytest.mark.parametrize("kind", ["python", "web"])
def test_every_package_has_a_licence_and_somebody_who_needs_it(kind):
    found = of_kind(kind)
    without = {it["name"] for it in found["components"] if not it.get("licenses")}
    assert without <= {"pysqlite3"}  # its metadata names none
    needed = {ref for it in found["dependencies"] for ref in it["dependsOn"]}
    assert {it["bom-ref"] for it in found["components"]} == needed
    assert found["metadata"]["component"]["version"] == kurz.__version__


def test_a_package_inside_another_is_found_first():
    packages: Bom = {
        "node_modules/a": {},
        "node_modules/b": {},
        "node_modules/a/node_modules/b": {},
    }
    assert sbom._find(packages, "node_modules/a", "b") == "node_modules/a/node_modules/b"
    assert sbom._find(packages, "node_modules/b", "a") == "node_modules/a"
    assert sbom._find(packages, "", "c") is None
