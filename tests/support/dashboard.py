"""What people at the dashboard do again and again."""

import json
from pathlib import Path
from typing import Any

from support.program import Program
from support.visitor import DESKTOP, PHONE, PICTURES, TABLET, Visitor

ADDRESS = "https://example.com/a/rather/long/address?with=several&parts=2"
PASSWORD = "correct horse battery"
PASSWORD_FIELD = "PasswordAt least 8 characters. A whole sentence is fine."  # of one-time links
LAST_IN_DIALOG = "[...document.querySelectorAll('[role=dialog] button')].at(-1)"


def take(visitor: Visitor, folder: Path, name: str, *, is_plain: bool = False) -> None:
    """One picture for every kind of screen; nobody is kept out, and nothing is cut off. A plain
    page has no scripts."""
    sizes = {"desktop": DESKTOP, "phone": PHONE} | ({"tablet": TABLET} if PICTURES else {})
    for size, (width, height) in sizes.items():
        visitor.resize(width, height)
        # What is too faint in the dark is so on every screen.
        for colours in ("light", "dark") if PICTURES or size == "desktop" else ("light",):
            visitor.prefer(colours)
            shown = f"document.documentElement.dataset.mantineColorScheme === '{colours}'"
            visitor.wait_for("true" if is_plain else shown)
            visitor.picture(folder / f"{name}-{size}-{colours}.png")
            barriers = visitor.barriers(only_colours=colours == "dark")
            assert barriers == [], (name, size, colours, barriers)
            assert (
                visitor.evaluate(
                    "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
                )
                == "True"
            ), (name, size)
    visitor.resize(*DESKTOP)


def sign_up(visitor: Visitor, email: str = "ada@example.com") -> None:
    visitor.visit("/app/sign-up")
    visitor.type("E-mail", email)
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for("location.pathname === '/app/links'")
    visitor.wait_for("document.querySelector('h1, h2') !== null")


def set_up(visitor: Visitor, program: Program, email: str = "ada@example.com") -> None:
    """As `sign_up`, by the link that the start printed: as the administrator."""
    visitor.visit(f"/app/setup#{program.set_up_token}")
    visitor.type("E-mail", email)
    visitor.type(PASSWORD_FIELD, PASSWORD)
    visitor.click("Create account")
    visitor.wait_for("location.pathname === '/app/links'")
    visitor.wait_for("document.querySelector('h1, h2') !== null")


def make(visitor: Visitor, **fields: object) -> None:
    do(visitor, "POST", "/links", {"original_url": ADDRESS, **fields})


def ask(visitor: Visitor, method: str, path: str, body: object = None) -> tuple[int, Any]:
    """A call of the API as the signed-in person: status, and what the answer holds. A text is sent
    as JSON Lines."""
    options: dict[str, Any] = {"method": method}
    is_rows = isinstance(body, str)
    if body is not None:
        kind = "application/jsonl" if is_rows else "application/json"
        sent = body if is_rows else json.dumps(body)
        options |= {"headers": {"content-type": kind}, "body": sent}
    found = visitor.evaluate(
        f"fetch({json.dumps('/api/v1' + path)}, {json.dumps(options)}).then((answer) =>"
        " answer.text().then((text) => JSON.stringify([answer.status, text])))"
    )
    status, text = json.loads(found)
    return status, json.loads(text or "{}")


def do(visitor: Visitor, method: str, path: str, body: object = None) -> Any:
    """As `ask`, of what has to go well: what the answer holds."""
    status, found = ask(visitor, method, path, body)
    assert status < 300, (method, path, status, found)
    return found


def find(visitor: Visitor, code: str, place: str = "", *, status: str = "") -> dict[str, Any]:
    """The link, as the API knows it."""
    page = do(visitor, "GET", f"{place}/links?limit=200{status and f'&status={status}'}")
    [link] = [link for link in page["links"] if link["short_code"] == code]
    found: dict[str, Any] = link
    return found


def confirm(visitor: Visitor) -> None:
    """What a dialog asks: its last button does it."""
    visitor.wait_for(f"{LAST_IN_DIALOG} !== undefined")
    visitor.rest()
    visitor.evaluate(f"{LAST_IN_DIALOG}.click()")


def secret(visitor: Visitor, number: int = 0) -> str:
    """What is shown to be copied in the dialog, if there is one."""
    found = visitor.evaluate(
        "[...(document.querySelector('[role=dialog]') ?? document)"
        f".querySelectorAll('code:has(+ button)')][{number}].textContent"
    )
    return str(found)


def open_form(visitor: Visitor, path: str = "/app/links") -> None:
    """With all of it unfolded."""
    visitor.visit(path)
    visitor.click("New link")
    visitor.wait_for("document.querySelector('[role=dialog] form') !== null")


def unfold(visitor: Visitor, name: str) -> None:
    visitor.click(name)
    visitor.wait_for(
        f"[...document.querySelectorAll('[aria-expanded=true]')]"
        f".some((it) => it.textContent === {json.dumps(name)})"
    )


def sign_out_elsewhere(visitor: Visitor) -> None:
    ended = visitor.evaluate(
        "fetch('/api/v1/auth/sign-out', {method: 'POST'}).then((answer) => answer.status)"
    )
    assert ended == "204"


def wait_for_end(visitor: Visitor) -> None:
    visitor.wait_for("document.querySelector('[role=dialog]') === null")


def refuse_to_leave(visitor: Visitor) -> None:
    visitor.wait_for_text("Discard changes?")
    visitor.press("Escape")
    visitor.wait_for("!document.body.innerText.includes('Discard changes?')")


def edit_new(visitor: Visitor) -> dict[str, Any]:
    """Makes a link, and opens it for editing."""
    open_form(visitor)
    visitor.type("Destination URL", ADDRESS)
    unfold(visitor, "More options")
    visitor.type("Custom code", "summer")
    visitor.type("Title", "Summer sale")
    visitor.press("Enter")
    visitor.wait_for_text("Your short link")
    visitor.click("Edit")
    visitor.wait_for_text("Edit /summer")
    return find(visitor, "summer")
