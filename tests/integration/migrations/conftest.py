"""Histories of migrations that are shorter or longer than ours."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kurz.storage.engine.migrate import Migrations
from support.engines import without_redis
from support.migrations import HEAD, NEXT

SECOND = """
import sqlalchemy as sa
from alembic import op
from kurz.storage.migrations.online import build_index

revision = "{next}"
down_revision = "{head}"
{works_with}


def upgrade():
    op.create_table("additions", sa.Column("id", sa.BigInteger(), primary_key=True))
    op.add_column("links", sa.Column("colour", sa.Text()))
    op.execute("UPDATE links SET colour = 'red'")
    {then}
"""

# Redis has no schema.
engine = without_redis


@pytest.fixture
def second(tmp_path: Path) -> Callable[..., Migrations]:
    """Makes a history with one more step than ours; `then` is what the step does at its end.
    `works_with`: the oldest schema whose programs still work after it."""

    def make(then: str = "pass", works_with: str = NEXT) -> Migrations:
        scripts = tmp_path / "migrations"
        shutil.rmtree(scripts, ignore_errors=True)
        shutil.copytree(Migrations().scripts, scripts)
        (scripts / "versions" / f"{NEXT}_second.py").write_text(
            SECOND.format(
                then=then, head=HEAD, next=NEXT, works_with=f'works_with = "{works_with}"'
            )
        )
        return Migrations(scripts=scripts, head=NEXT)

    return make


@pytest.fixture
def until(tmp_path: Path) -> Callable[[str], Migrations]:
    """Gives the history as it was when its newest step was the given one."""

    def cut(head: str) -> Migrations:
        scripts = tmp_path / f"until-{head}"
        shutil.copytree(Migrations().scripts, scripts)
        for script in (scripts / "versions").glob("*.py"):
            if script.name[:4] > head:
                script.unlink()
        return Migrations(scripts=scripts, head=head)

    return cut
