"""The files in deploy/ name what exists, and every alert says what to do."""

import re
import tomllib
from collections import Counter

import pytest

from kurz.cli.app import EXIT_CODES, EXIT_CONFIG
from support.observed import (
    ROOT,
    alerts,
    documented_metrics,
    expressions_of,
    metrics_in,
    panels,
    rules,
)

RUNBOOK = (ROOT / "docs" / "guides" / "runbook.md").read_text()
# They need the network, root or programs of the system, and have targets of their own.
APART = {"tests/deploy", "tests/packages"}


def test_every_metric_of_the_alerts_exists():
    used = {name for rule in rules() for name in metrics_in(rule["expr"])}
    assert len(used) > 25
    assert used - documented_metrics() == set()


def test_every_metric_of_the_dashboard_exists():
    used = {name for it in panels() for text in expressions_of(it) for name in metrics_in(text)}
    assert len(used) > 40
    assert used - documented_metrics() == set()


def test_every_panel_has_a_title_and_an_id_of_its_own():
    assert all(panel["title"] and panel["description"] for panel in panels())
    assert max(Counter(panel["id"] for panel in panels()).values()) == 1


def test_every_metric_to_alert_on_has_an_alert():
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    lines = [line for line in page.splitlines() if "Alert" in line]
    watched = {name for rule in rules() for name in metrics_in(rule["expr"])}
    assert len(lines) > 15
    assert [line for line in lines if not set(re.findall(r"`(kurz_[a-z_]+)", line)) & watched] == []


@pytest.mark.parametrize("name", alerts())
def test_every_alert_has_a_section_of_the_runbook(name):
    section = RUNBOOK.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    for part in ("**Meaning.**", "**Look.**", "**Do.**"):
        assert part in section
    rule = alerts()[name]
    assert rule["annotations"]["runbook_url"] == f"docs/guides/runbook.md#{name.lower()}"
    assert rule["labels"]["severity"] in ("page", "ticket")


def test_the_runbook_has_no_section_of_an_alert_that_is_gone():
    assert set(re.findall(r"^## (Kurz\w+)$", RUNBOOK, re.MULTILINE)) == set(alerts())


def test_systemd_gives_up_on_an_invalid_setting_only():
    unit = (ROOT / "deploy" / "systemd" / "kurz.service").read_text()
    assert re.findall(r"^RestartPreventExitStatus=(.*)$", unit, re.MULTILINE) == [str(EXIT_CONFIG)]
    assert EXIT_CONFIG not in EXIT_CODES.values()
    assert "\nRestart=on-failure\n" in unit
    # By default, five failures within ten seconds are the last.
    assert "\nStartLimitIntervalSec=0\n" in unit


def test_make_test_runs_all_tests_but_those_that_need_more():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = {
        f"tests/{path.name}"
        for path in (ROOT / "tests").iterdir()
        if path.is_dir() and next(path.rglob("test_*.py"), None)
    }
    assert set(project["tool"]["pytest"]["ini_options"]["testpaths"]) == folders - APART
