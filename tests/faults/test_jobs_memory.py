"""What the jobs process takes while it catches up with many new links, and after."""

import time
from pathlib import Path

import pytest

from support.engines import without_redis

engine = without_redis  # which has no part in it

LINKS = 60_000
MOST_BYTES = 150e6
BACKLOGS = ("count_backlog", "destinations_backlog", "search_backlog")


@pytest.mark.long
def test_an_import_does_not_make_the_jobs_process_grow(start_program, tmp_path: Path):
    rows = (f"https://site{number % 5000}.example/{number}" for number in range(LINKS))
    file = tmp_path / "links.csv"
    file.write_text("original_url\n" + "\n".join(rows))
    program = start_program(KURZ_METRICS="public")
    program.run("import", str(file))
    most, deadline = 0.0, time.monotonic() + 300
    with program.client() as client:
        while time.monotonic() < deadline:
            lines = client.get("/metrics").text.splitlines()
            found = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
            most = max(most, float(found['kurz_process_resident_bytes{process="jobs"}']))
            if most and not any(float(found[f"kurz_{name}"]) for name in BACKLOGS):
                break
            time.sleep(1)
        else:
            pytest.fail("it did not catch up")
    assert most <= MOST_BYTES
