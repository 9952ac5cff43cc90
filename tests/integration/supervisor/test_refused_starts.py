"""Settings that `kurz serve` refuses with one line."""

import os
import subprocess
from pathlib import Path

import pytest

from support import nursery


def serve(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
    environment |= {"KURZ_PORT": "0", "KURZ_DATA_DIR": str(tmp_path / "kurz-data")}
    done = nursery.run(["serve"], {**inherited, **environment}, seconds=30)
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def test_a_setting_that_only_workers_refuse_ends_it_with_one_line(tmp_path):
    ended = serve(tmp_path, KURZ_WORKERS="3", KURZ_ROOT_WORKSPACE="nobody")
    assert ended.returncode == 78
    assert ended.stderr.startswith("kurz: KURZ_ROOT_WORKSPACE: there is no workspace “nobody”.")
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stdout == ""


def test_a_file_of_countries_that_is_not_there_ends_it_with_one_line(tmp_path):
    ended = serve(tmp_path, KURZ_GEOIP_DB="/nowhere/country.mmdb")
    assert ended.returncode == 78
    assert ended.stderr == (
        "kurz: KURZ_GEOIP_DB: the file /nowhere/country.mmdb cannot be used:"
        " No such file or directory.\n"
    )
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"KURZ_ARCHIVE": "folder"}, "KURZ_ARCHIVE"),
        ({"KURZ_ARCHIVE": "s3://bucket", "KURZ_ARCHIVE_S3_KEY_ID": "x"}, "KURZ_ARCHIVE_S3_KEY_ID"),
        ({"KURZ_BACKUP": "s3://bucket", "KURZ_BACKUP_S3_KEY_ID": "x"}, "KURZ_BACKUP_S3_KEY_ID"),
        (
            {"KURZ_BACKUP": "/backups", "KURZ_BACKUP_RECIPIENTS": f"age1{'q' * 58}"},
            "KURZ_BACKUP_RECIPIENTS",
        ),
    ],
)
def test_an_archive_that_cannot_be_opened_ends_it_with_one_line(tmp_path, settings, name):
    """Before the jobs process would, which counts the clicks."""
    ended = serve(tmp_path, **settings)
    assert ended.returncode == 78
    assert len(ended.stderr.splitlines()) == 1
    assert name in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("number", ["0", "65", "many"])
def test_a_number_of_workers_that_makes_no_sense_is_refused(tmp_path, number):
    ended = serve(tmp_path, KURZ_WORKERS=number)
    assert ended.returncode == 78
    assert "from 1 to 64" in ended.stderr
