"""What the alerts and the Grafana dashboard in deploy/ ask Prometheus for."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

import kurz

ROOT = Path(kurz.__file__).parents[2]
ALERTS = ROOT / "deploy" / "alerts" / "kurz.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "kurz.json"
_METRIC = re.compile(r"\bkurz_[a-z_]+\b(?!:)")


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def expressions_of(panel: dict[str, Any]) -> list[str]:
    return [target["expr"] for target in panel["targets"]]


def metrics_in(expression: str) -> set[str]:
    """Without what the rules themselves record, such as `job:kurz_…:ratio_rate5m`."""
    own = re.sub(r"\bjob:[\w:]+", "", expression)
    return set(_METRIC.findall(own))


def documented_metrics() -> set[str]:
    """With the series of a histogram."""
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    names: set[str] = set()
    for cell, kind in re.findall(r"^\| (`kurz_.+?) \| ([a-z, ]+) \|", page, re.MULTILINE):
        found = re.findall(r"`(kurz_[a-z_]+)", cell)
        parts = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        names |= {name + part for name in found for part in parts}
    return names
