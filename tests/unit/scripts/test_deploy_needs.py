"""What `make test-deploy` says about a machine that lacks something."""

import deploy_needs
import pytest


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The only folder with programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return tmp_path


def add(folder, *names: str) -> None:
    for name in names:
        (folder / name).touch(mode=0o755)


def test_it_names_the_packages_that_are_missing(path):
    add(path, *deploy_needs.PROGRAMS, "helm")
    (path / "promtool").unlink()
    (path / "nginx").unlink()
    [complaint] = deploy_needs.complaints()
    assert complaint.endswith("apt-get install --no-install-recommends nginx-light prometheus")


def test_it_says_where_helm_comes_from(path):
    add(path, *deploy_needs.PROGRAMS)
    [complaint] = deploy_needs.complaints()
    assert "go install helm.sh/helm" in complaint


def test_it_needs_root(path, monkeypatch):
    add(path, *deploy_needs.PROGRAMS, "helm")
    assert deploy_needs.complaints() == []
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    [complaint] = deploy_needs.complaints()
    assert "sudo" in complaint
