"""The JavaScript of the documentation computes the codes that kurz computes, or refuses to run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from data.good_urls import GOOD
from kurz.links import urls
from kurz.links.codes import deterministic

ROOT = Path(__file__).parents[2]
NODE = Path(sys.executable).with_name("node")
VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text())
PAGE = (ROOT / "docs" / "reference" / "canonical-urls.md").read_text()
USE = """
import { canonicalUrl, shortCode } from "./codes.mjs";
import { readFileSync } from "node:fs";
const asked = JSON.parse(readFileSync(0));
console.log(JSON.stringify(asked.map(([url, workspace]) => {
  const canonical = canonicalUrl(url);
  return [canonical, shortCode(canonical, workspace)];
})));
"""
# As engines before Node.js 24.5 have it.
OLDER = """
const Real = globalThis.URL;
globalThis.URL = class extends Real {
  get pathname() { return super.pathname.replaceAll("%5E", "^"); }
};
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    [snippet] = re.findall(r"^```js\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "codes.mjs").write_text(snippet, encoding="utf-8")
    (tmp_path / "use.mjs").write_text(USE)
    (tmp_path / "older.mjs").write_text(OLDER)
    return tmp_path


def run(
    folder: Path, asked: list[tuple[str, int]], *options: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NODE, *options, "use.mjs"],
        cwd=folder,
        input=json.dumps(asked),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_it_computes_the_codes_of_all_vectors_and_many_other_urls(folder):
    asked = [(item["url"], item["workspace"]) for item in VECTORS]
    asked += [(url, 7) for url in (*GOOD, "https://example.com/^/`?^`#^")]
    expected = []
    for url, workspace in asked:
        canonical = urls.judge(url).canonical
        expected.append([canonical, deterministic.generate(canonical, workspace)])
    done = run(folder, asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == expected


def test_it_refuses_to_run_on_an_engine_that_computes_other_codes(folder):
    done = run(folder, [("https://example.com/", 1)], "--import", "./older.mjs")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "would compute other codes" in done.stderr
