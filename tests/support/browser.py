"""A real browser without a window, driven over a pipe by its own protocol: one process for many
people in it, who know nothing of each other. It tells whether a page ran a script that it should
not have."""

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
SECONDS = 60
# The browser reads commands from descriptor 3, and writes to 4.
_START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4);"
_START += "os.execv(sys.argv[3], sys.argv[3:])"
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # it has no rights to make one in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--no-proxy-server",
    "--remote-debugging-pipe",
)
# Before any script of a page: what payloads call, and what the page's policy had to stop.
_WATCH = """
for (const name of ["alert", "confirm", "prompt", "print"]) window[name] = () => ran(name);
addEventListener("securitypolicyviolation", (event) => stopped(event.violatedDirective));
"""


class Seen(NamedTuple):
    """What a page did while it was loaded. `ran` and `stopped` should be empty."""

    ran: list[str]
    stopped: list[str]
    html: str


TOUCH = """document.querySelectorAll("*").forEach((it) => {
  it.focus?.();
  it.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
})"""
Event = dict[str, Any]
# What the browser says of a question to a page that was left before it could answer.
_LEFT = (
    "Inspected target navigated or closed",
    "Execution context was destroyed.",
    "Cannot find context with specified id",
)


class PageWasLeft(Exception):
    """While it was asked something."""


class Chromium:
    """The process. It is started at the first use, which takes seconds, and then serves everybody:
    a `Browser` each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._number = 0
        self._events: dict[str, list[Event]] = {}

    def close(self) -> None:
        if self._process is None:
            return
        self.call("Browser.close")
        self._process.wait(SECONDS)
        os.close(self._to)
        os.close(self._from)

    def events(self, session: str) -> list[Event]:
        """What a session has told until now, and will; nothing of others is kept."""
        return self._events.setdefault(session, [])

    def forget(self, session: str) -> None:
        self._events.pop(session, None)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        if self._process is None:
            self._start()
        number = self._send(method, session, **params)
        while True:
            found = self.read()
            if found is not None and found["id"] == number:
                if found.get("error", {}).get("message") in _LEFT:
                    raise PageWasLeft(method)
                assert "error" not in found, (method, found)
                result: dict[str, Any] = found["result"]
                return result

    def read(self) -> Event | None:
        """The next message: an answer, or None if it was an event, which is kept."""
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], SECONDS)
            assert ready, "the browser says nothing"
            piece = os.read(self._from, 1 << 20)
            assert piece, "the browser has ended"
            self._unread += piece
        text, _, self._unread = self._unread.partition(b"\0")
        message: Event = json.loads(text)
        if "id" in message:
            return message
        if message["method"] == "Page.javascriptDialogOpening":  # "Leave this page?"
            self._send("Page.handleJavaScriptDialog", message["sessionId"], accept=True)
        events = self._events.get(message.get("sessionId", ""))
        if events is not None:
            events.append(message)
        return None

    def _send(self, method: str, session: str | None, **params: Any) -> int:
        """The number that the answer will have."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        piece = json.dumps(message).encode() + b"\0"
        while piece:
            piece = piece[os.write(self._to, piece) :]
        return self._number

    def _start(self) -> None:
        if CHROMIUM is None:
            pytest.fail("These tests need Chromium: install it, so that `chromium` can be found.")
        (theirs_in, self._to), (self._from, theirs_out) = os.pipe(), os.pipe()
        trampoline = [sys.executable, "-c", _START, str(theirs_in), str(theirs_out)]
        self._process = subprocess.Popen(
            [*trampoline, CHROMIUM, *_OPTIONS, f"--user-data-dir={self._folder}"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)


class Browser:
    """One person's: it begins with no cookies and nothing remembered, and ends with all of it.
    `bypasses_policy`: Content-Security-Policies are ignored, so that escaping alone protects."""

    def __init__(self, chromium: Chromium, *, bypasses_policy: bool) -> None:
        self._chromium = chromium
        self._bypasses_policy = bypasses_policy

    def __enter__(self) -> Self:
        call = self._chromium.call
        self._context = call("Target.createBrowserContext")["browserContextId"]
        target = call("Target.createTarget", url="about:blank", browserContextId=self._context)
        attached = call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session: str = attached["sessionId"]
        self._events = self._chromium.events(self._session)
        for name in ("ran", "stopped"):
            self._ask("Runtime.addBinding", name=name)
        for domain in ("Page", "Runtime", "Network"):
            self._ask(f"{domain}.enable")
        self._ask("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        self._ask("Page.setBypassCSP", enabled=self._bypasses_policy)
        # As if its window were in front, whichever others are open.
        self._ask("Emulation.setFocusEmulationEnabled", enabled=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._chromium.call("Target.disposeBrowserContext", browserContextId=self._context)
        self._chromium.forget(self._session)

    def send_headers(self, **headers: str) -> None:
        """With every request from now on."""
        self._ask("Network.setExtraHTTPHeaders", headers=headers)

    def open(self, url: str) -> Seen:
        """Loads a page, touches everything in it that can be touched, and looks."""
        self._events.clear()
        # The same page with another fragment would not be loaded.
        self._ask("Page.navigate", url="about:blank")
        self._wait("Page.loadEventFired")
        failed = self._ask("Page.navigate", url=url).get("errorText")
        assert not failed, (url, failed)
        self._wait("Page.loadEventFired")
        self._evaluate(TOUCH)
        # Errors of pictures and the like come after the page.
        self._evaluate("new Promise((done) => setTimeout(() => requestIdleCallback(done), 0))")
        html = self._evaluate("document.documentElement.outerHTML")
        return Seen(self._called("ran"), self._called("stopped"), html)

    def _called(self, name: str) -> list[str]:
        calls = [it["params"] for it in self._events if it["method"] == "Runtime.bindingCalled"]
        return [it["payload"] for it in calls if it["name"] == name]

    def _evaluate(self, expression: str) -> str:
        done = self._ask(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done
        return str(done["result"].get("value"))

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self._chromium.call(method, self._session, **params)

    def _wait(self, method: str) -> None:
        """Takes the event out: the next one is another's."""
        while True:
            for event in self._events:
                if event["method"] == method:
                    self._events.remove(event)
                    return
            self._chromium.read()
