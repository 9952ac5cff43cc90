"""People at the numbers of their links, in a real browser."""

import json
from pathlib import Path

import pytest

from support.dashboard import do, find, make, set_up, sign_up, take
from support.seeded import seed, seed_checks
from support.site import SITE
from support.visitor import Visitor

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

LONG = "https://shop.example.com/winter/sale?" + "&".join(f"part{n}=value{n}" for n in range(120))
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "kurz-data"


def open_link(visitor: Visitor, code: str) -> int:
    """Goes to a link's page; gives its number."""
    number = find(visitor, code)["id"]
    visitor.visit(f"/app/links/{number}")
    visitor.wait_for_text(f"/{code}")
    return int(number)


def number_of(visitor: Visitor, label: str) -> str:
    """What stands big below a word."""
    return visitor.evaluate(
        "[...document.querySelectorAll('dl div')].find((it) => it.querySelector('dt')?.innerText"
        f".startsWith({json.dumps(label)}))?.querySelector('dd span')?.innerText"
    )


def wait_for_number(visitor: Visitor, label: str, value: str) -> None:
    visitor.wait_for(
        "[...document.querySelectorAll('dl div')].some((it) => it.innerText.startsWith("
        f"{json.dumps(label)}) && it.querySelector('dd span')?.innerText === {json.dumps(value)})"
    )


def test_a_click_is_seen_while_one_looks(visitor, program, pictures):
    sign_up(visitor)
    make(visitor, custom_code="launch", title="The launch")
    open_link(visitor, "launch")
    visitor.wait_for_text("Share the link. Clicks appear here within seconds.")
    visitor.wait_for_text("Live")
    take(visitor, pictures, "link-empty")
    visitor.evaluate("window.isTheSame = true")
    with program.client(headers={"user-agent": FIREFOX, "accept-language": "de"}) as client:
        assert client.get("/launch").status_code == 302
        wait_for_number(visitor, "Clicks", "1")
        wait_for_number(visitor, "Visitors today", "1")
        visitor.wait_for_text("German")
        client.get("/launch", headers={"user-agent": "Googlebot/2.1"})
        wait_for_number(visitor, "Clicks", "2")
        assert number_of(visitor, "People") == "1"
        assert "plus 1 by bots" in visitor.text()
        hide(visitor, is_hidden=True)
        visitor.wait_for_text("Paused")
        client.get("/launch")
        hide(visitor, is_hidden=False)
        wait_for_number(visitor, "Clicks", "3")
    assert visitor.evaluate("window.isTheSame") == "True"


def hide(visitor: Visitor, *, is_hidden: bool) -> None:
    """As when another tab comes before it."""
    visitor.evaluate(
        "{ Object.defineProperty(document, 'hidden', {configurable: true,"
        f" value: {json.dumps(is_hidden)}}});"
        " document.dispatchEvent(new Event('visibilitychange')); }"
    )


def test_a_part_of_the_time_is_chosen_by_drawing(visitor, program, data_dir, pictures):
    sign_up(visitor)
    make(
        visitor,
        custom_code="winter",
        title="Winter sale",
        tags=["shop", "newsletter"],
        original_url=LONG,
        notes="Goes out on Friday.\nAsk Ada before changing it.",
        max_clicks=5000,
    )
    seed(data_dir, ["winter"], days=45)
    open_link(visitor, "winter")
    visitor.wait_for("document.querySelector('canvas') !== null")
    visitor.wait_for_text("By day")
    whole = number_of(visitor, "Clicks")
    take(visitor, pictures, "link")
    look_at_colours(visitor)
    visitor.drag(".u-over", 0.5, 0.55)
    visitor.wait_for("new URLSearchParams(location.search).has('from')")
    visitor.wait_for_text("By hour")
    assert int(number_of(visitor, "Clicks")) < int(whole.replace(",", ""))
    visitor.picture(pictures / "link-zoomed.png")
    visitor.drag(".u-over", 0.5, 0.5)
    visitor.wait_for("location.search === ''")
    wait_for_number(visitor, "Clicks", whole)
    visitor.click("Show as table")
    visitor.wait_for("document.querySelectorAll('details tbody tr').length === 30")
    visitor.evaluate("document.querySelectorAll('details tbody button')[20].click()")
    visitor.wait_for("document.querySelectorAll('details tbody tr').length === 24")
    visitor.click("Zoom out")
    visitor.wait_for("location.search === ''")
    visitor.click("7 d")
    visitor.wait_for("document.querySelectorAll('details tbody tr').length === 7")
    visitor.click("Bots")
    visitor.wait_for_text("Bot types")
    assert "Countries" not in visitor.text()
    visitor.visit(visitor.evaluate("location.pathname + location.search"))
    visitor.wait_for_text("Slackbot")
    assert visitor.evaluate("location.search") == "?range=7d&show=bots"
    visitor.click("Export")
    visitor.wait_for("document.querySelector('a[role=menuitem]') !== null")
    file = visitor.evaluate(
        "fetch(document.querySelector('a[role=menuitem]').href).then((answer) => answer.text())"
    )
    assert len(file.splitlines()) == 1 + 7


def look_at_colours(visitor: Visitor) -> None:
    """The chart is drawn anew when the colours change."""
    for colours in ("dark", "light"):
        visitor.prefer(colours)
        visitor.wait_for(f"document.documentElement.dataset.mantineColorScheme === '{colours}'")
        visitor.wait_for(
            """(() => {
            const canvas = document.querySelector("canvas");
            const wanted = getComputedStyle(document.documentElement)
              .getPropertyValue("--kurz-field").match(/[0-9a-f]{2}/g).map((it) => parseInt(it, 16));
            const copy = new OffscreenCanvas(canvas.width, canvas.height)
              .getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
            let found = 0;
            for (let at = 0; at < data.length; at += 4)
              if (wanted.every((part, index) => data[at + index] === part)) found += 1;
            return found > 500;
            })()"""
        )


def test_what_became_of_a_link_is_told_and_can_be_undone(visitor, program, pictures):
    sign_up(visitor)
    make(visitor, custom_code="winter", title="Winter sale", expires_in=1)
    number = open_link(visitor, "winter")
    visitor.wait_for_text("This link expired")  # perhaps while one looks
    take(visitor, pictures, "link-expired")
    visitor.click("Restore for 30 days")
    visitor.wait_for("!document.body.innerText.includes('This link expired')")
    visitor.wait_for_text("restored it")
    do(visitor, "PATCH", f"/links/{number}", {"title": "<b>Summer</b>", "tags": ["new"]})
    visitor.click("Actions")
    visitor.click("Pause")
    visitor.wait_for_text("Someone else changed this in the meantime.")
    visitor.click("Close")
    visitor.wait_for_text("<b>Summer</b>")
    visitor.click("Actions")
    visitor.click("Pause")
    visitor.wait_for_text("This link is paused.")
    with program.client() as client:
        assert client.get("/winter").status_code == 404
    visitor.click("Resume")
    visitor.wait_for("!document.body.innerText.includes('This link is paused.')")
    visitor.click("Actions")
    visitor.click("Delete")
    visitor.wait_for_text("This link was deleted")
    visitor.evaluate(  # of the last toast: pausing could be undone, too
        "[...document.querySelectorAll('button')]"
        ".findLast((it) => it.textContent === 'Undo').click()"
    )
    visitor.wait_for("!document.body.innerText.includes('This link was deleted')")
    visitor.click("Actions")
    visitor.click("Delete")
    visitor.wait_for_text("This link was deleted")
    visitor.wait_for("document.activeElement.tagName === 'H1'")
    take(visitor, pictures, "link-deleted")
    visitor.click("Restore")
    visitor.wait_for("!document.body.innerText.includes('This link was deleted')")
    history = visitor.text().partition("History")[2]
    assert "Winter sale → <b>Summer</b>" in history
    assert "Active → Paused" in history
    assert "You moved it to the trash" in history
    visitor.visit("/app/links/4711")
    visitor.wait_for_text("Link not found")
    take(visitor, pictures, "link-missing")
    visitor.click("Go to links")
    visitor.wait_for("location.pathname === '/app/links'")


def test_a_destination_is_checked_now(
    start_program, environment, visit, site_port, data_dir, pictures
):
    networks = {"KURZ_CHECK_NETWORKS": f"{SITE}/32", "KURZ_CHECK_PORTS": str(site_port)}
    visitor = visit(start_program(**environment, **networks))
    sign_up(visitor)
    make(visitor, custom_code="here", original_url=f"http://{SITE}:{site_port}/")
    number = open_link(visitor, "here")
    visitor.wait_for_text("Destination check")
    visitor.click("Check now")
    visitor.wait_for_text("The destination is reachable. It responded with status 200.")
    good, bad = ("ok", "answered", 200), ("broken", "answered", 404)
    past = dict.fromkeys(range(3, 28, 3), good) | {9: bad, 15: ("unknown", "no-answer", None)}
    seed_checks(data_dir, past)
    visitor.visit(f"/app/links/{number}")
    visitor.wait_for("document.querySelector('[data-result=broken]') !== null")
    assert "It responded with status 404." not in visitor.text()
    visitor.evaluate("document.querySelector('[role=slider]').focus()")
    for _ in range(3):
        visitor.press("ArrowLeft")
    visitor.wait_for_text("It responded with status 404.")
    assert "broken" in visitor.evaluate("document.activeElement.ariaValueText")
    take(visitor, pictures, "link-checks")


def test_a_place_has_numbers_of_all_its_links(visitor, visit, program, data_dir, pictures):
    set_up(visitor, program)
    make(visitor, custom_code="winter", title="Winter sale", tags=["shop"])
    make(visitor, custom_code="report", title="Annual report 2026", tags=["press"])
    make(visitor, custom_code="tickets", title="<img src=x onerror=alert(1)>", tags=["a/b<c>"])
    visitor.visit("/app/stats")
    visitor.wait_for_text("Share a link. Clicks appear here within seconds.")
    take(visitor, pictures, "stats-empty")
    seed(data_dir, ["winter", "report", "tickets"], days=45)
    visitor.wait_for_text("Top links")  # without a reload
    visitor.wait_for("document.querySelector('canvas') !== null")
    take(visitor, pictures, "stats")
    whole = number_of(visitor, "Clicks")
    visitor.choose("Tag", "a/b<c>")
    visitor.wait_for("new URLSearchParams(location.search).get('tag') === 'a/b<c>'")
    visitor.wait_for("document.querySelectorAll('ol li').length === 1")
    assert number_of(visitor, "Clicks") != whole
    visitor.click("Entire server")
    visitor.wait_for_text("Server-wide stats")
    wait_for_number(visitor, "Clicks", whole)
    visitor.visit("/app/stats?range=all")
    visitor.wait_for_text("By day")
    visitor.click("/report")
    visitor.wait_for_text("Annual report 2026")
    page = visitor.evaluate("location.pathname")
    visitor.prefer("light", "de-AT,de;q=0.9")
    visitor.visit(page)
    visitor.wait_for_text("Letzte Klicks")
    visitor.wait_for("document.querySelector('canvas') !== null")
    visitor.picture(pictures / "link-german.png")
    other = visit(program)
    sign_up(other, "grace@example.com")
    other.visit("/app/stats?of=installation")
    other.wait_for_text("No clicks yet")
    assert "Entire server" not in other.text()
    other.visit(page)
    other.wait_for_text("Link not found")


def test_a_viewer_of_a_workspace_looks_and_changes_nothing(visitor, visit, program):
    sign_up(visitor)
    team = do(visitor, "POST", "/workspaces", {"name": "Team", "slug": "team"})["id"]
    base = f"/workspaces/{team}"
    link = do(visitor, "POST", f"{base}/links", {"original_url": "https://example.com/a"})
    do(visitor, "PATCH", f"{base}/links/{link['id']}", {"title": "Ours"})
    invited = do(visitor, "POST", f"{base}/invitations", {"role": "viewer"})
    page = f"/app/w/{team}/links/{link['id']}"
    visitor.visit(page)
    visitor.wait_for_text("You edited this link")
    assert "Actions" in visitor.text()
    other = visit(program)
    sign_up(other, "grace@example.com")
    do(other, "POST", "/invitations/accept", {"token": invited["token"]})
    other.visit(page)
    other.wait_for_text("ada@example.com edited this link")
    other.wait_for_text("No clicks yet")
    for word in ("Actions", "Check now"):
        assert word not in other.text()
    with program.client(headers={"user-agent": FIREFOX}) as client:
        client.get(link["short_url"])
    wait_for_number(other, "Clicks", "1")
