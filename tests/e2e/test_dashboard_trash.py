"""The trash: what is in it, the way back, and the end."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from support import shelf
from support.dashboard import confirm, do, find, sign_up, take
from support.visitor import Visitor

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

ROWS = "document.querySelectorAll('tbody tr').length"


def in_the_trash() -> list[dict[str, Any]]:
    """Some were deleted by their owner; one was swept after it had expired."""
    now = datetime.now(UTC)
    found = shelf.rows(now)
    for row in found:
        row["deleted_at"] = now.isoformat()
        row["status"] = "DELETED"
        if row["short_code"] == "old-sale":
            row["swept_at"] = now.isoformat()
            row["expires_at"] = (now - timedelta(days=40)).isoformat()
    return found


def test_links_come_back_from_the_trash_or_go_for_ever(visitor, pictures):
    sign_up(visitor)
    visitor.visit("/app/trash")
    visitor.wait_for_text("The trash is empty")
    take(visitor, pictures, "trash-empty")
    empty_the_last_page(visitor)
    links = in_the_trash()
    shelf.fill(visitor, links)
    visitor.visit("/app/trash")
    visitor.wait_for(f"{ROWS} === {len(links)}")
    assert "in 30 days" in visitor.text() or "next month" in visitor.text()
    take(visitor, pictures, "trash")
    visitor.click("Restore menu")
    visitor.wait_for_text("/menu was restored.")
    visitor.wait_for(f"{ROWS} === {len(links) - 1}")
    assert find(visitor, "menu")["status"] == "ACTIVE"
    visitor.type("Search", "ticket")
    visitor.wait_for(f"{ROWS} === 1")
    visitor.click("Delete tickets permanently")
    visitor.wait_for_text("This cannot be undone.")
    visitor.click("Delete permanently")
    visitor.wait_for_text("1 link was permanently deleted.")
    visitor.type("Search", "")
    visitor.wait_for(f"{ROWS} === {len(links) - 2}")
    visitor.click("Empty trash")
    visitor.wait_for_text(f"{len(links) - 2} links will be permanently deleted")
    visitor.picture(pictures / "trash-ask.png", is_whole=False)
    confirm(visitor)
    visitor.wait_for_text("The trash is empty")
    page = do(visitor, "GET", "/links?status=DELETED")
    assert page["total"] == 0


def empty_the_last_page(visitor: Visitor) -> None:
    """Whoever takes all from it sees the page before."""
    made = {"original_url": "https://example.com/", "status": "DELETED"}
    shelf.fill(visitor, [{**made, "short_code": f"flyer-{number}"} for number in range(51)])
    visitor.visit("/app/trash")
    visitor.click("Next page")
    visitor.wait_for(f"{ROWS} === 1")
    visitor.click("Stats")
    visitor.wait_for("document.querySelector('h1')?.textContent === 'Stats'")
    visitor.evaluate("history.back()")
    visitor.wait_for_text("51–51 of 51")  # still the second page
    visitor.evaluate("document.querySelector('tbody td:last-child button').click()")
    visitor.wait_for(f"{ROWS} === 50")
    visitor.wait_for_text("1–50 of 50")
    emptied = do(visitor, "DELETE", "/trash")
    assert emptied["purged"] == 50


def test_what_had_expired_answers_again_only_if_somebody_wants_it(visitor):
    sign_up(visitor)
    shelf.fill(visitor, in_the_trash())
    visitor.visit("/app/trash")
    visitor.click("Restore old-sale")
    visitor.choose("Expires", "7")
    visitor.click("Restore")
    visitor.wait_for_text("/old-sale was restored.")
    back = find(visitor, "old-sale")
    assert back["status"] == "ACTIVE"
    assert 6 < (datetime.fromisoformat(back["expires_at"]) - datetime.now(UTC)).days + 1 <= 7
    do(visitor, "DELETE", f"/links/{back['id']}")
    shelf.fill(
        visitor,
        [
            {
                "short_code": "autumn",
                "original_url": "https://example.com/autumn",
                "expires_at": "2024-01-31T12:00:00Z",
                "status": "DELETED",
            }
        ],
    )
    visitor.visit("/app/trash")
    visitor.tick("Select autumn")
    visitor.tick("Select launch")
    visitor.wait_for_text("2 selected")
    visitor.click("Restore")
    visitor.wait_for_text("1 of them had expired. It is restored without an expiry date.")
    confirm(visitor)
    visitor.wait_for_text("2 links were restored.")
    assert find(visitor, "autumn")["expires_at"] is None
