"""Helm accepts the chart, and Kubernetes what it makes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.observed import ROOT

CHART = ROOT / "deploy" / "chart" / "kurz"
VALIDATOR = "kubernetes-validate==1.37.0"
KUBERNETES = "1.33"
REQUIRED = {
    "image.repository": "registry.example.com/kurz",
    "image.tag": "0.3.0",
    "baseUrl": "https://go.example.com",
    "existingSecret.name": "kurz",
}
MORE = {
    "ingress.className": "nginx",
    "ingress.extraHosts": "{short.example.net}",
    "ingress.tlsSecret": "kurz-tls",
    "existingSecret.metricsToken": "metrics-token",
    "settings.KURZ_WORKERS": "2",
    "imagePullSecrets[0].name": "registry",
    "nodeSelector.disk": "ssd",
    "podAnnotations.team": "links",
}


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["helm", *arguments], capture_output=True, text=True, check=False)


def template(values: dict[str, str]) -> subprocess.CompletedProcess[str]:
    sets = [f"--set-string={name}={value}" for name, value in values.items()]
    # A helm that Go built takes the cluster for an old one.
    return helm("template", "links", CHART, f"--kube-version={KUBERNETES}.0", *sets)


def objects(values: dict[str, str]) -> dict[str, dict[str, Any]]:
    done = template(values)
    assert done.returncode == 0, done.stderr
    return {it["kind"]: it for it in yaml.safe_load_all(done.stdout) if it}


def test_helm_accepts_it():
    sets = [f"--set-string={name}={value}" for name, value in REQUIRED.items()]
    done = helm("lint", "--strict", CHART, *sets)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("values", [REQUIRED, {**REQUIRED, **MORE}], ids=["least", "most"])
def test_kubernetes_accepts_what_it_makes(values, tmp_path):
    done = template(values)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "objects.yaml"
    path.write_text(done.stdout)
    command = [sys.executable, "-m", "uv", "tool", "run", "--from", VALIDATOR]
    command += ["kubernetes-validate", "--strict", "-k", KUBERNETES, str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("name", REQUIRED)
def test_it_says_what_is_missing(name):
    done = template({key: value for key, value in REQUIRED.items() if key != name})
    assert done.returncode != 0
    assert f"Set {name} to" in done.stderr or "Set image.repository:" in done.stderr


def test_secrets_are_references():
    found = objects(REQUIRED)
    for kind in ("Deployment", "Job"):
        [container] = found[kind]["spec"]["template"]["spec"]["containers"]
        values = {it["name"]: it for it in container["env"]}
        for name in ("KURZ_DATABASE_URL", "KURZ_REDIS_URL", "KURZ_SECRET"):
            assert values[name]["valueFrom"]["secretKeyRef"]["name"] == "kurz"


def test_only_instances_get_visitors():
    found = objects({**REQUIRED, **MORE})
    selector = found["Service"]["spec"]["selector"]
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert selector.items() <= labels.items()
    job = found["Job"]["spec"]["template"]["metadata"]["labels"]
    assert not selector.items() <= job.items()
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == selector
    hosts = [rule["host"] for rule in found["Ingress"]["spec"]["rules"]]
    assert hosts == ["go.example.com", "short.example.net"]
