"""The documentation names everything that exists, and what it says about it is so."""

import importlib
import pkgutil
import re
import tomllib
from datetime import timedelta
from pathlib import Path

import openapi
import pytest
import typer

import kurz
from kurz.api.app import create_api
from kurz.cli.app import app as command_line
from kurz.errors import catalogue
from kurz.links.codes import deterministic
from kurz.links.codes.words import OWN_SEGMENTS, RESERVED
from kurz.links.ending.retention import INTERVALS, PRESETS, EndedKind
from kurz.links.urls import judge
from kurz.people.access import Permission
from kurz.settings.load import variable
from kurz.settings.model import Settings, fields
from kurz.settings.values import NEVER, show_duration
from kurz.wiring.core import retention_of
from kurz.wiring.reaper import schedule_of

ROOT = Path(kurz.__file__).parent.parent.parent
DOCS = ROOT / "docs"
SOURCE = Path(kurz.__file__).parent

_TARGET = re.compile(r"""\]\(([^)#\s]+)|\b(?:src|srcset|href)="([^"#\s]+)""")


def reference(name: str) -> str:
    return (DOCS / "reference" / name).read_text()


def shown(value: object) -> str:
    """A setting's value as one writes it."""
    if isinstance(value, timedelta):
        return show_duration(value)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)


def routes() -> list[str]:
    """Their paths as the OpenAPI document has them: `{tag}`, not `{tag:path}`."""
    found = create_api(None).routes  # type: ignore[arg-type]
    return [route.path_format for route in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize("item", fields(), ids=lambda item: item.name)
def test_every_setting_is_documented_with_its_default(item):
    rows = [
        line
        for line in reference("settings.md").splitlines()
        if line.startswith(f"| `{variable(item.name)}`")
    ]
    assert len(rows) == 1
    assert shown(item.default) in rows[0]


def test_every_problem_is_documented():
    for module in pkgutil.walk_packages(kurz.__path__, "kurz."):
        if "migrations" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    text = reference("problems.md")
    codes = [error.code for error in catalogue()]
    assert len(codes) > 20
    assert [code for code in codes if f"`{code}`" not in text] == []


def test_every_route_is_documented():
    text = reference("http.md")
    assert [path for path in routes() if f"`{path}`" not in text and f" {path}`" not in text] == []


def test_every_first_segment_is_reserved():
    segments = {path.split("/")[1] for path in routes()} - {""}
    assert segments
    assert segments <= OWN_SEGMENTS


def test_every_own_segment_is_documented():
    text = reference("codes.md")
    assert [word for word in sorted(RESERVED) if f"`{word}`" not in text] == []


def test_every_command_is_documented():
    text = reference("cli.md")
    names = [*typer.main.get_command(command_line).commands]  # type: ignore[attr-defined]
    assert len(names) >= 10
    assert [name for name in names if f"kurz {name}" not in text] == []


def test_the_openapi_document_is_up_to_date():
    assert openapi.TARGET.read_text() == openapi.document(), "run `make openapi`"


def test_the_table_of_canonical_urls_is_right():
    row = re.compile(r"\| `(.+?)` \| (\d+) \| `(.+?)` \| `(.+?)` \|")
    rows = row.findall(reference("canonical-urls.md"))
    assert len(rows) == 30
    for url, workspace, canonical, code in rows:
        assert judge(url).canonical == canonical
        assert deterministic.generate(canonical, int(workspace)) == code


def test_the_package_for_buckets_is_the_one_that_kurz_works_with():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    [needed] = project["project"]["optional-dependencies"]["s3"]
    for path in (DOCS / "guides" / "archive.md", ROOT / "src" / "kurz" / "wiring" / "buckets.py"):
        assert f"install '{needed}'" in path.read_text(), path


def test_the_package_for_encryption_is_the_one_that_kurz_works_with():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    [needed] = project["project"]["optional-dependencies"]["encryption"]
    sealing = ROOT / "src" / "kurz" / "transfer" / "backup" / "sealing.py"
    for path in (DOCS / "guides" / "backup.md", sealing):
        assert f"install '{needed}'" in path.read_text(), path


def test_samples_name_no_schema_that_the_next_migration_outdates():
    for path in DOCS.rglob("*.md"):
        assert not re.search(r"schema \d{4}|up to date \(\d", path.read_text()), path


def test_every_scope_of_a_key_says_what_it_allows():
    page = reference("api-people.md")
    said = dict(re.findall(r"^\| `([a-z]+(?::[a-z]+)?)` \| ([^|]+) \|$", page, re.MULTILINE))
    for scope in Permission:
        assert scope.value in said
        assert "nothing" not in said[scope.value]


def test_the_table_of_presets_is_right():
    text = (DOCS / "guides" / "expiration.md").read_text()
    written = {
        row.strip("| ").split(" | ")[0].strip("`"): row.strip("| ").split(" | ")[1:]
        for row in re.findall(r"^\| `[a-z]+` \| .*\|$", text, re.MULTILINE)
    }
    assert written == {
        name: [
            show_duration(INTERVALS[name]),
            *(
                f"{show_duration(NEVER if rule.after is None else rule.after)}, {rule.action}"
                for rule in retention.values()
            ),
        ]
        for name, retention in PRESETS.items()
    }
    head = re.findall(r"`KURZ_RETENTION_([A-Z]+)`", text.partition("|---")[2])
    assert [EndedKind(name.lower()) for name in head[:4]] == list(PRESETS["default"])


def test_the_table_of_where_numbers_come_from_is_right():
    text = (DOCS / "guides" / "expiration.md").read_text()
    rows = re.findall(
        r"^\| .+ \| `KURZ_([A-Z_]+)`(?:, by `(\w+)`)? \| (\w+) \|$", text, re.MULTILINE
    )
    table = text.partition("## Where the numbers come from")[2].partition("\n\n|")[2]
    assert len(rows) == len(table.partition("\n\n")[0].splitlines()) - 2 == 23
    for name, preset, value in rows:
        chosen = Settings(retention=preset or "default")
        found = getattr(chosen, name.lower())
        if name == "REAPER_INTERVAL":
            found = schedule_of(chosen).every
        elif name.startswith("RETENTION_"):
            found = retention_of(chosen)[EndedKind(name.removeprefix("RETENTION_").lower())].after
        assert shown(found) == value, name


def test_every_decision_is_listed_in_order():
    recorded = sorted(path.name for path in (DOCS / "adr").glob("[0-9]*.md"))
    lines = re.findall(r"^(\d+)\. .*\(adr/(.+)\)$", (DOCS / "README.md").read_text(), re.MULTILINE)
    assert [name for _, name in lines] == recorded
    assert [int(number) for number, _ in lines] == [int(name[:4]) for name in recorded]


def modules() -> list[Path]:
    """Modules and packages of kurz, except those whose name says everything."""
    found = {
        path.parent if path.name == "__init__.py" else path.with_suffix("")
        for path in SOURCE.rglob("*.py")
        if path.name not in ("__main__.py", "errors.py") and "versions" not in path.parts
    }
    return sorted(path.relative_to(SOURCE) for path in found - {SOURCE})


def description(package: Path) -> str:
    return importlib.import_module(".".join(("kurz", *package.parts))).__doc__ or ""


def test_every_module_is_named_in_the_architecture_or_by_its_package():
    page = (DOCS / "explanation" / "architecture.md").read_text()
    found = modules()
    assert len(found) > 300
    assert [
        str(module)
        for module in found
        if f"`{module.name}`" not in description(module.parent)
        and not re.search(f"`{module}/?`", page)
    ] == []


def exists(module: Path) -> bool:
    return module.is_dir() or module.with_suffix(".py").is_file()


def test_every_module_that_a_package_names_exists():
    named = {
        package / name
        for package in {module.parent for module in modules()}
        for line in description(package).splitlines()
        if line.startswith("`")
        for name in re.findall(r"`(\w+)`", line.partition(":")[0])
    }
    assert len(named) > 300
    assert [str(module) for module in named if not exists(SOURCE / module)] == []


def test_every_module_that_the_documents_name_exists():
    packages = "|".join(path.parent.name for path in SOURCE.glob("*/__init__.py"))
    path_of_module = re.compile(rf"`((?:{packages})/[a-z_/]*)(?:\.[a-z_]+)*`")
    named = [
        (page.name, name)
        for page in [*ROOT.glob("*.md"), *DOCS.glob("explanation/*.md")]
        if page.name != "CHANGELOG.md"
        for name in path_of_module.findall(page.read_text())
    ]
    assert len(named) > 50
    assert [(page, name) for page, name in named if not exists(SOURCE / name)] == []


def test_the_architecture_shows_the_layers_that_are_checked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (DOCS / "explanation" / "architecture.md").read_text()
    shown = page.partition("## The dependency rule")[2].split("```")[1]
    # Beside some of them, it says what they are.
    assert [re.split(r" {2,}", line)[0] for line in shown.strip().splitlines()] == layers


def test_every_path_in_the_guide_for_contributors_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`([\w.-]+/[\w./-]*)`", text)
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_links_between_documents_lead_somewhere_and_pictures_are_there():
    targets = [
        (page.relative_to(ROOT), page.parent / (in_markdown or in_html))
        for page in [*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("web/*.md")]
        for in_markdown, in_html in _TARGET.findall(page.read_text())
        if ":" not in in_markdown + in_html
    ]
    assert targets
    assert [f"{page}: {target}" for page, target in targets if not target.exists()] == []


def test_no_placeholder_is_left():
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
    assert [page.name for page in pages if "<<" in page.read_text()] == []
