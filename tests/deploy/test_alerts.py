"""Prometheus accepts the alerts and the dashboard, and each alert fires when it should."""

import json
import subprocess
from pathlib import Path

import pytest

from support.observed import ALERTS, alerts, expressions_of, panels

UP = {"job": "kurz", "instance": "kurz:8080"}
# Minutes: longer than the longest window, which is 3 days, plus how long a ratio must last.
LONG = 3 * 24 * 60 + 120
# From here on, a sample every 10 minutes has to do.
MANY = 24 * 60
QUIET = {
    "up": "1",
    "kurz_info": "1",
    "kurz_jobs": "1",
    'kurz_redirects_total{outcome="redirect"}': "0+6000",
    'kurz_redirects_total{outcome="missing"}': "0+60",
    'kurz_redirects_total{outcome="unavailable"}': "0+0",
    'kurz_api_requests_total{status="2xx"}': "0+600",
    'kurz_api_requests_total{status="5xx"}': "0+0",
    'kurz_redirect_seconds_bucket{le="0.001024"}': "0+5990",
    'kurz_redirect_seconds_bucket{le="+Inf"}': "0+6000",
    "kurz_reaper_runs_total": "0+0.1",
    "kurz_reaper_marked_total": "0+1",
    "kurz_reaper_waiting": "3",
    "kurz_clicks_age_seconds": "1",
    "kurz_checks_ok_total": "0+5",
    "kurz_checks_unknown_total": "0+1",
    "kurz_count_backlog": "0",
    "kurz_destinations_backlog": "0",
    "kurz_search_backlog": "0",
    # No backups on a schedule, any more: an old one is of no concern.
    "kurz_backup_last_success_timestamp_seconds": "1",
    "kurz_backup_interval_seconds": "0",
    "kurz_creates_refused_total": "0+0",
    "kurz_transfers_refused_total": "0+0",
    "kurz_requests_refused_total": "0+0",
}
FAILING_VISITS = 'kurz_redirects_total{outcome="unavailable"}'
FAILING_REQUESTS = 'kurz_api_requests_total{status="5xx"}'
# What differs from a quiet server, and after how many minutes the alert fires.
FIRES: dict[str, tuple[dict[str, str], int]] = {
    "KurzRedirectErrorsFast": ({FAILING_VISITS: "0+120"}, 70),
    "KurzRedirectErrorsSlow": ({FAILING_VISITS: "0+20"}, LONG),
    "KurzApiErrorsFast": ({FAILING_REQUESTS: "0+12"}, 70),
    "KurzApiErrorsSlow": ({FAILING_REQUESTS: "0+2"}, LONG),
    "KurzDown": ({"up": "0"}, 5),
    "KurzJobsDown": ({"kurz_jobs": "0"}, 10),
    "KurzRedirectsSlow": (
        {
            'kurz_redirect_seconds_bucket{le="0.001024"}': "0+5800",
            'kurz_redirect_seconds_bucket{le="1.048576"}': "0+6000",
        },
        30,
    ),
    "KurzConnectionsRefused": ({"kurz_connections_refused_total": "0+1"}, 15),
    "KurzOverloaded": ({"kurz_creates_refused_total": "0+60"}, 30),
    "KurzClicksDropped": ({"kurz_journal_dropped_total": "0+1"}, 15),
    "KurzClicksNotRecorded": ({"kurz_journal_failing": "1"}, 5),
    "KurzClickBacklog": ({"kurz_clicks_age_seconds": "300"}, 10),
    "KurzClicksUnreadable": ({"kurz_clicks_load_errors_total": "0+1"}, 20),
    "KurzJournalNotSynced": ({"kurz_journal_sync_errors_total": "0+1"}, 15),
    "KurzReaperNotRun": ({"kurz_reaper_runs_total": "5"}, 27 * 60),
    "KurzReaperFailed": ({"kurz_reaper_failed_runs_total": "0+0.1"}, 70),
    "KurzBackupFailed": ({"kurz_backup_failed_runs_total": "0+0.1"}, 70),
    "KurzBackupOld": (
        {
            "kurz_backup_last_success_timestamp_seconds": "1",
            "kurz_backup_interval_seconds": "86400",
        },
        50 * 60,
    ),
    "KurzBackupMissing": (
        {
            "kurz_backup_last_success_timestamp_seconds": "0",
            "kurz_backup_interval_seconds": "86400",
        },
        70,
    ),
    "KurzBackupDamaged": ({"kurz_backup_damaged_links": "1"}, 5),
    "KurzReaperBehind": ({"kurz_reaper_waiting": "10+5"}, 7 * 60),
    "KurzUnusualExpiries": (
        {"kurz_reaper_marked_total": "0+1x1152 20000+1000x12"},
        8 * 1440 + 90,
    ),
    "KurzClockJumped": ({"kurz_reaper_skipped_runs_total": "0+0.1"}, 70),
    "KurzFeedStale": ({"kurz_feed_stale": "1"}, 5),
    "KurzDatabaseFailing": ({"kurz_database_failing": "1"}, 5),
    "KurzDatabaseTimeouts": ({"kurz_database_timeouts_total": "0+3"}, 20),
    "KurzRedisOut": ({"kurz_cache_out": "1"}, 10),
    "KurzReplicaErrors": ({"kurz_replica_errors_total": "0+3"}, 30),
    "KurzBacklogGrows": ({"kurz_search_backlog": "100+10"}, 150),
    "KurzListsUnsure": ({"kurz_lists_unsure": "1"}, 10),
    "KurzScreeningFailed": ({"kurz_screening_failed_runs_total": "0+0.1"}, 70),
    "KurzChecksFail": ({"kurz_checks_ok_total": "7", "kurz_checks_unknown_total": "0+2"}, 70),
}


def with_labels(series: str) -> str:
    name, _, labels = series.partition("{")
    own = ",".join(f'{key}="{value}"' for key, value in UP.items())
    return f"{name}{{{own}{',' + labels if labels else '}'}"


def case(name: str, changed: dict[str, str], minutes: int, *, fires: bool) -> dict[str, object]:
    """`ALERTS` is the series that Prometheus itself writes for each alert."""
    series = {**QUIET, **changed}
    step = 10 if minutes > MANY else 1
    query = f'count(ALERTS{{alertname=~"{name}",alertstate="firing"}})'
    return {
        "interval": f"{step}m",
        "name": name,
        "input_series": [
            {
                "series": with_labels(it),
                "values": values if "x" in values else over(values, minutes),
            }
            for it, values in series.items()
        ],
        "promql_expr_test": [
            {
                "expr": query,
                "eval_time": f"{minutes}m",
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }


def over(values: str, samples: int) -> str:
    """`5` is a gauge that stays, `0+6` a counter that rises by 6 from sample to sample."""
    return f"{values}x{samples}" if "+" in values else f"{values}+0x{samples}"


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def run_test(folder: Path, tested: dict[str, object]) -> None:
    path = folder / "tests.yaml"
    every = tested["interval"]
    tests = {"rule_files": [str(ALERTS)], "evaluation_interval": every, "tests": [tested]}
    path.write_text(json.dumps(tests))  # which is YAML, too
    promtool("test", "rules", path)


def test_the_rules_are_valid():
    promtool("check", "rules", ALERTS)


def test_every_alert_is_tested():
    assert set(FIRES) == set(alerts())


@pytest.mark.parametrize("name", FIRES)
def test_it_fires(name, tmp_path):
    changed, minutes = FIRES[name]
    run_test(tmp_path, case(name, changed, minutes, fires=True))


def test_none_fires_on_a_quiet_server(tmp_path):
    run_test(tmp_path, case(".*", {}, LONG, fires=False))


def test_the_expressions_of_the_dashboard_are_valid(tmp_path):
    variables = {"$job": "kurz", "$instance": ".*", "$__rate_interval": "5m", "$__range": "6h"}
    rules: list[dict[str, str]] = []
    for panel in panels():
        for text in expressions_of(panel):
            expression = text
            for name, value in variables.items():
                expression = expression.replace(name, value)
            assert "$" not in expression
            rules.append({"record": f"panel:number_{len(rules)}", "expr": expression})
    path = tmp_path / "panels.yaml"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", path)
