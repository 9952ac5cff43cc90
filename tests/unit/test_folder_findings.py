"""What `kurz doctor` says about the owner of the data folder."""

import os
from pathlib import Path

from kurz.cli.folder_findings import another_user

SOMEBODY = 54_321


def test_root_is_told_to_look_as_the_owner(tmp_path):
    if os.geteuid() == 0:
        os.chown(tmp_path, SOMEBODY, SOMEBODY)
    owner_id = tmp_path.stat().st_uid
    assert another_user(tmp_path, owner_id) == []
    [found] = another_user(tmp_path, 0)
    assert found.verdict == "warning"
    assert f"{tmp_path} belongs to another user" in found.says
    assert "sudo -u " in found.says


def test_root_may_be_the_owner():
    assert another_user(Path("/"), 0) == []
