"""User agents, and what each is to be taken for."""

from pathlib import Path

from kurz.clicks.counts import VisitKind

TABLE = Path(__file__).parents[1] / "data" / "user_agents.tsv"
# Sort, browser, system, device, and what it sends.
ROWS = [line.split("\t") for line in TABLE.read_text().splitlines()[1:]]
PREVIEWS = [row[4] for row in ROWS if row[0] == VisitKind.PREVIEW]
