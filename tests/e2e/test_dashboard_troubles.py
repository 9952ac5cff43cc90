"""The dashboard on slow machines, and while the database is away."""

import json

import pytest

from servers.postgres import PostgresServer
from support.clicks import wait_until
from support.dashboard import ADDRESS, make, sign_up
from support.program import Program

SLOWER = 4
MOST_SHIFTED = 0.02
# Milliseconds after the page was asked for: the field takes what is typed.
WHEN_USABLE = "addEventListener('focusin', () => { window.usableAt ??= performance.now(); })"


def is_ready(program: Program) -> bool:
    with program.client() as client:
        return client.get("/readyz").status_code == 200


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_home_is_soon_there_on_a_slow_machine_and_nothing_moves(visitor, pictures):
    visitor.begin_with(WHEN_USABLE)
    visitor.slow_down(SLOWER)
    visitor.visit("/")
    visitor.wait_for("window.usableAt")
    visitor.press("h")
    visitor.wait_for("document.activeElement.value === 'h'")
    seconds = round(float(visitor.evaluate("window.usableAt")) / 1000, 2)
    pictures.mkdir(parents=True, exist_ok=True)
    told = {"slower": SLOWER, "usable_after_seconds": seconds}
    (pictures / "home-slow.json").write_text(json.dumps(told))
    visitor.slow_down(1)
    assert visitor.shifted() < MOST_SHIFTED
    visitor.type("Destination URL", ADDRESS)
    visitor.press("Enter")
    visitor.wait_for_text("Expires in")
    sign_up(visitor)
    for number in range(3):
        make(visitor, title=f"Number {number}")
    visitor.visit("/app/links")
    visitor.wait_for_text("Number 2")
    visitor.settle()
    assert visitor.shifted() < MOST_SHIFTED


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_move_is_noticed(visitor):
    """Else the other test would say nothing."""
    visitor.visit("/")
    visitor.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {"
        " document.body.style.paddingTop = '200px';"
        " requestAnimationFrame(() => requestAnimationFrame(() => done()));})))"
    )
    visitor.wait_for("true")
    assert visitor.shifted() > MOST_SHIFTED


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_what_was_typed_outlives_an_outage_of_the_database(start_program, visit, engine):
    with PostgresServer(fsync="off") as server:
        server.create_database("kurz")
        program = start_program(
            KURZ_DATABASE_URL=server.url("kurz"), KURZ_DATABASE_WRITE_MILLISECONDS="2000"
        )
        visitor = visit(program)
        sign_up(visitor)
        make(visitor, custom_code="winter", title="Winter sale")
        visitor.visit("/app/links")
        visitor.wait_for_text("Winter sale")
        home = visit(program)
        home.visit("/")
        server.kill()
        home.type("Destination URL", ADDRESS)
        home.press("Enter")
        home.wait_for_text("The server cannot do this right now.")
        assert home.value("Destination URL") == ADDRESS
        visitor.type("Search", "winter")
        visitor.wait_for("document.querySelector('[role=alert]') !== null")
        assert visitor.value("Search") == "winter"
        server.start()
        wait_until(lambda: is_ready(program))
        home.press("Enter")
        home.wait_for_text("Expires in")
        visitor.click("Try again")
        visitor.wait_for("document.querySelectorAll('tbody tr').length === 1")
        assert visitor.value("Search") == "winter"
