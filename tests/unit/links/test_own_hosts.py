"""URLs that lead back to kurz are refused, however they are spelled."""

import pytest

from kurz.errors import SettingRefused
from kurz.links import urls
from kurz.links.errors import UrlRefused
from kurz.people.domains import Domains
from kurz.people.own_hosts import OwnHosts
from kurz.people.workspaces import Site, Workspace
from kurz.settings.load import load
from support.url_strategies import judged, refusal

OWN = ("kurz.example", "go.example:8443", "[::1]:8080", "10.0.0.1")


@pytest.mark.parametrize(
    "url",
    [
        "https://kurz.example/abc",
        "http://kurz.example",
        "https://kurz.example:9999/",
        "https://KURZ.Example/",
        "https://kurz.example./abc",
        "https://kurz.example.:443/",
        "https://k%75rz.example/",
        "https://kurz\u3002example/",
        "https://\uff4b\uff55\uff52\uff5a.example/",
        "https://go.example:8443/",
        "https://go.example.:8443/",
        "https://go.example:08443/",
        "http://[::1]:8080/",
        "http://[0:0:0:0:0:0:0:1]:8080/",
        "http://10.0.0.1/",
        "http://10.0.0.1:8080/",
        "http://[::ffff:10.0.0.1]/",
        "http://[0:0:0:0:0:FFFF:A00:1]:8080/",
    ],
    ids=ascii,
)
def test_links_back_to_kurz_are_refused(url):
    assert refusal(url, OWN) == "This URL points back to this shortener."
    assert judged(url) is not None


@pytest.mark.parametrize(
    "url",
    [
        "https://www.kurz.example/",
        "https://notkurz.example/",
        "https://kurz.example.com/",
        "https://kurz-example/",
        "https://kurz.examples/",
        "https://kürz.example/",
        "https://xkurz.example./",
        "https://other.example/kurz.example",
        "https://other.example/?next=https://kurz.example/",
        "https://other.example/#kurz.example",
        "https://go.example/",
        "https://go.example:443/",
        "http://go.example:8444/",
        "https://a.go.example:8443/",
        "http://[::1]/",
        "http://[::2]:8080/",
        "http://10.0.0.10/",
        "http://110.0.0.1/",
        "http://[::ffff:10.0.0.10]/",
        "http://[::10.0.0.1]/",
    ],
)
def test_look_alikes_of_our_hosts_are_accepted(url):
    assert urls.judge(url, OWN) == urls.judge(url)


@pytest.mark.parametrize(
    ("own", "url"),
    [
        ("go.example:443", "https://go.example/"),
        ("go.example:80", "http://go.example/"),
    ],
)
def test_a_default_port_of_ours_is_recognised_when_it_is_left_out(own, url):
    assert refusal(url, (own,)) == "This URL points back to this shortener."


def test_a_default_port_belongs_to_its_own_scheme():
    assert urls.judge("http://go.example/", ("go.example:443",)).location == "http://go.example/"


class NoWorkspaces:
    """A `WorkspaceStore` with nothing in it."""

    async def find(self, workspace_id: int) -> Workspace | None:
        return None

    async def find_by_slug(self, slug: str) -> Workspace | None:
        return None

    async def verified_sites(self) -> dict[str, Site]:
        return {}


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://go.example", "https://go.example/x"),
        ("https://GO.example:8443/", "https://go.example:8443/x"),
        ("https://go.example:443", "https://go.example/x"),
        ("http://[::1]:8080", "http://[::1]:8080/x"),
        ("https://xn--mnchen-3ya.example", "https://münchen.example/x"),
        ("https://münchen.example", "https://xn--mnchen-3ya.example/x"),
        ("https://go.example.", "https://go.example/x"),
        ("http://[0:0::1]:8080", "http://[::1]:8080/x"),
        ("http://127.1:8080", "http://127.0.0.1:8080/x"),
    ],
)
async def test_a_base_url_is_refused_or_recognised(base_url, url):
    """However it is written: a link to it must not be made."""
    try:
        address = load({}, {"KURZ_BASE_URL": base_url}).settings.base_url
    except SettingRefused:
        return
    assert judged(url) is not None
    own = await OwnHosts(address, Domains(NoWorkspaces())).get()
    with pytest.raises(UrlRefused):
        urls.judge(url, own)
