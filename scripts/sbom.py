"""Bills of materials (CycloneDX 1.6): the packages in the program and those in the dashboard.

Python's packages are those that kurz needs in this environment, which has the versions of the lock.
Those of the dashboard come from npm's lock, without the ones that only build it.
"""

import base64
import json
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
Component = dict[str, Any]


def python_bom() -> str:
    found: dict[str, Distribution] = {}
    needs: dict[str, list[str]] = {}
    waiting = ["kurz"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = distribution(name)
            needs[name] = sorted(_needed(found[name]))
            waiting += needs[name]
    components = {name: _python_component(name, it) for name, it in found.items()}
    return _document(components.pop("kurz"), components, needs)


def web_bom(version: str) -> str:
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    shipped = {
        path: it for path, it in packages.items() if not (it.get("dev") or it.get("devOptional"))
    }
    components = {path: _npm_component(path, it) for path, it in shipped.items() if path}
    needs = {
        path: [
            found for name in it.get("dependencies", {}) if (found := _find(shipped, path, name))
        ]
        for path, it in shipped.items()
    }
    root = _component("kurz-dashboard", version, f"pkg:npm/kurz-dashboard@{version}", "MIT")
    return _document(root, components, needs, root="")


def _needed(package: Distribution) -> Iterator[str]:
    """Those for this platform, and those of the extras that somebody asks for are their own."""
    for line in package.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def _python_component(name: str, package: Distribution) -> Component:
    version = package.version
    return _component(name, version, f"pkg:pypi/{name}@{version}", _python_license(package))


def _python_license(package: Distribution) -> str:
    """An SPDX expression where the package has one. Older ones have a classifier or free text."""
    fields = package.metadata
    if "License-Expression" in fields:
        return str(fields["License-Expression"])
    for classifier in fields.get_all("Classifier") or ():
        if classifier.startswith("License ::"):
            return str(classifier.rpartition(" :: ")[2])
    return str(fields["License"]).partition("\n")[0] if "License" in fields else ""


def _npm_component(path: str, package: dict[str, Any]) -> Component:
    name = path.rpartition("node_modules/")[2]
    version = package["version"]
    found = _component(
        name, version, f"pkg:npm/{quote(name)}@{version}", package.get("license", "")
    )
    algorithm, _, digest = package["integrity"].partition("-")
    content = base64.b64decode(digest).hex()
    found["hashes"] = [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": content}]
    return found


def _find(packages: dict[str, Any], path: str, name: str) -> str | None:
    """Where Node would find it: in the package's own folder, then in those around it."""
    while True:
        inside = f"{path}/node_modules/{name}".lstrip("/")
        if inside in packages:
            return inside
        if not path:
            return None
        path = path.rpartition("node_modules/")[0].rstrip("/")


def _component(name: str, version: str, purl: str, licence: str) -> Component:
    found: Component = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
    }
    if licence:
        found["licenses"] = [{"license": {"name": licence}}]
    return found


def _document(
    main: Component,
    components: dict[str, Component],
    needs: dict[str, list[str]],
    root: str = "kurz",
) -> str:
    known = {root: main, **components}
    refs = {name: it["bom-ref"] for name, it in known.items()}
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": main | {"type": "application"}},
        "components": sorted(components.values(), key=lambda it: str(it["bom-ref"])),
        "dependencies": [
            {"ref": refs[name], "dependsOn": sorted({refs[it] for it in needs[name]})}
            for name in sorted(known, key=refs.__getitem__)
        ],
    }
    return json.dumps(bom, indent=2) + "\n"
