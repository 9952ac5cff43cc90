"""A real headless browser, driven by Playwright: one process for many people, who share no cookies
and no storage. It reports whether a page ran a script that it should not have."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, NamedTuple, Self, TypeVar

import pytest
from browser import launch_options
from playwright.async_api import Dialog, async_playwright

SECONDS = 60
# Runs before any script of a page: reports what payloads call, and what the policy had to stop.
_WATCH = """
for (const name of ["alert", "confirm", "prompt", "print"]) window[name] = () => told("ran", name);
addEventListener("securitypolicyviolation", (it) => told("stopped", it.violatedDirective));
"""
TOUCH = """document.querySelectorAll("*").forEach((it) => {
  it.focus?.();
  it.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
})"""
# Finds the button, link or field with a name, as a person would: in the open dialog first.
_NAMED = """({
  query(root, selector) { return this.queryAll(root, selector)[0] ?? null; },
  queryAll(root, selector) {
    const [name, kind] = JSON.parse(selector);
    const label = (it) => it.getAttribute("aria-label")
      ?? (it.labels?.[0] ?? it).textContent.trim();
    const seen = (it) => it.checkVisibility() && !it.closest("[inert]");
    const found = [...root.querySelectorAll(kind)].filter((it) => seen(it) && label(it) === name);
    const best = found.findLast((it) => it.closest("[role=dialog]")) ?? found[0];
    return best === undefined ? [] : [best];
  },
})"""

T = TypeVar("T")


class Seen(NamedTuple):
    """What a page did while it was loaded. `ran` and `stopped` should be empty."""

    ran: list[str]
    stopped: list[str]
    html: str


class Chromium:
    """The process. It is started at the first use, which takes a second, and then serves everybody:
    a `Browser` each. Playwright's event loop has a thread of its own, because many tests have an
    event loop in theirs."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits until it is done."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="playwright")
            self._thread.start()
            self.run(self._start())
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * SECONDS)

    def close(self) -> None:
        if self._loop is None:
            return
        self.run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        options = launch_options()
        if options is None:
            pytest.fail("These tests need a browser: `make test` brings one.")
        self._playwright = await async_playwright().start()
        await self._playwright.selectors.register("named", script=_NAMED)
        self.browser = await self._playwright.chromium.launch(**options)

    async def _stop(self) -> None:
        await self.browser.close()
        await self._playwright.stop()


class Browser:
    """One person's: it begins with no cookies and nothing stored, and takes all of it along.
    `bypasses_policy`: Content-Security-Policies are ignored, so that escaping alone protects."""

    def __init__(self, chromium: Chromium, *, bypasses_policy: bool) -> None:
        self._run = chromium.run
        self._chromium = chromium
        self._bypasses_policy = bypasses_policy
        self._told: list[tuple[str, str]] = []
        self._dialogs: list[str] = []

    def __enter__(self) -> Self:
        self._run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._context.close())

    async def _start(self) -> None:
        # Without a viewport of its own, so that `resize` can also turn it into a phone.
        self._context = await self._chromium.browser.new_context(
            bypass_csp=self._bypasses_policy,
            no_viewport=True,
            permissions=["clipboard-read", "clipboard-write"],
        )
        self._context.set_default_timeout(SECONDS * 1000)
        await self._context.expose_function("told", lambda *call: self._told.append(call))
        await self._context.add_init_script(_WATCH)
        self.page = await self._context.new_page()
        self.page.on("dialog", self._leave)
        self._protocol = await self._context.new_cdp_session(self.page)

    def send_headers(self, **headers: str) -> None:
        """With every request from now on."""
        self._run(self._context.set_extra_http_headers(headers))

    def open(self, url: str) -> Seen:
        """Loads a page, touches everything in it that can be touched, and looks."""
        self._told.clear()
        # The same page with another fragment would not be loaded.
        self._run(self.page.goto("about:blank"))
        self._run(self.page.goto(url))
        self.evaluate(TOUCH)
        # Errors of pictures and the like come after the page. A headless shell may never be idle.
        self.evaluate(
            "new Promise((done) => setTimeout(() => requestIdleCallback(done, {timeout: 1000}), 0))"
        )
        html = self.evaluate("document.documentElement.outerHTML")
        return Seen(self._calls("ran"), self._calls("stopped"), html)

    def evaluate(self, expression: str) -> str:
        """The value of an expression in the page, as Python would print it."""
        return str(self._run(self.page.evaluate(expression)))

    def _calls(self, name: str) -> list[str]:
        """What pages have reported: calls arrive in order, so that all before this one are here."""
        self.evaluate("told('', '')")
        return [value for kind, value in self._told if kind == name]

    async def _leave(self, dialog: Dialog) -> None:
        """Answers "Leave this page?" with yes."""
        self._dialogs.append(dialog.type)
        await dialog.accept()
