"""A person at the dashboard: a real browser that reads, types, clicks and takes pictures."""

import json
import os
import time
from base64 import b64decode
from pathlib import Path
from typing import Any, Self

from support.browser import SECONDS, TOUCH, Browser, Chromium, Event, PageWasLeft

# A folder to keep pictures of pages in.
PICTURES = os.environ.get("KURZ_TEST_PICTURES")
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP = (1280, 800)
PHONE = (390, 844)
# What a key press is made of; `text` types it, too.
_KEYS = {
    "Enter": {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "Escape": {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27},
    "ArrowLeft": {"key": "ArrowLeft", "code": "ArrowLeft", "windowsVirtualKeyCode": 37},
    "Tab": {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9},
    "ArrowDown": {"key": "ArrowDown", "code": "ArrowDown", "windowsVirtualKeyCode": 40},
    "ArrowUp": {"key": "ArrowUp", "code": "ArrowUp", "windowsVirtualKeyCode": 38},
}
# The nearest thing that a person would call by that name: a button, a link, a field.
_FIND = """(name, kind) => {
  const label = (it) => it.getAttribute("aria-label")
    ?? (it.labels?.[0] ?? it).textContent.trim();
  const seen = (it) => it.checkVisibility() && !it.closest("[inert]");
  const found = [...document.querySelectorAll(kind)].filter((it) => seen(it) && label(it) === name);
  return found.findLast((it) => it.closest("[role=dialog]")) ?? found[0];  // what stands above
}"""
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_BARRIERS = """axe.run(document, {runOnly: %s})
.then((result) => JSON.stringify(result.violations.flatMap((rule) =>
  rule.nodes.map((it) => `${rule.id}: ${it.target} ${it.failureSummary}`))))"""
_COLOURS = ["color-contrast"]
_IS_STILL = """document.getAnimations().every((it) =>
  it.playState !== "running" || it.effect.getComputedTiming().endTime === Infinity)"""
_TWO_FRAMES = """new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done)))"""
_ENDS = ("Network.loadingFinished", "Network.loadingFailed")
# Entries of before are told, too, but one turn later.
_SHIFTED = """new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const it of list.getEntries()) if (!it.hadRecentInput) sum += it.value;
  }).observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 50);
})"""
_CLICKABLE = "button, a, [role=menuitem], [role=option], [role=tab], label, summary"
_FIELDS = "input, textarea, select"


class Visitor(Browser):
    """Its page's policy holds. `complaints` are what the browser's console said went wrong."""

    def __init__(self, chromium: Chromium, origin: str) -> None:
        super().__init__(chromium, bypasses_policy=False)
        self.origin = origin

    def __enter__(self) -> Self:
        super().__enter__()
        self._ask("Log.enable")
        self._chromium.call(
            "Browser.grantPermissions",
            browserContextId=self._context,
            permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
        )
        self.resize(*DESKTOP)
        return self

    def begin_with(self, script: str) -> None:
        """Before those of every page from now on."""
        self._ask("Page.addScriptToEvaluateOnNewDocument", source=script)

    def slow_down(self, times: float) -> None:
        """As on a machine that is so many times slower."""
        self._ask("Emulation.setCPUThrottlingRate", rate=times)

    def block(self, *addresses: str) -> None:
        """Nothing comes from them any more; `*` stands for anything."""
        self._ask("Network.setBlockedURLs", urls=list(addresses))

    def connect(self, *, is_there: bool) -> None:
        """Brings the connection back, or takes it away."""
        self._ask(
            "Network.emulateNetworkConditions",
            offline=not is_there,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    def shifted(self) -> float:
        """How much of what is seen has moved by itself since the page began to load."""
        return float(self._evaluate(_SHIFTED))

    def resize(self, width: int, height: int) -> None:
        is_phone = width < 600
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if is_phone else 1,
            mobile=is_phone,
        )

    def prefer(self, colours: str, language: str = "en") -> None:
        """As a person sets their system: `light` or `dark`, and the language."""
        feature = {"name": "prefers-color-scheme", "value": colours}
        self._ask("Emulation.setEmulatedMedia", features=[feature])
        agent = json.loads(self.evaluate("JSON.stringify(navigator.userAgent)"))
        self._ask("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=language)

    def visit(self, path: str) -> None:
        """Goes to a page and waits until it shows something."""
        self._events[:] = [it for it in self._events if it["method"] != "Page.loadEventFired"]
        failed = self._ask("Page.navigate", url=self.origin + path).get("errorText")
        assert not failed, (path, failed)
        self._wait("Page.loadEventFired")
        self.wait_for("document.querySelector('h1, h2, form') !== null")

    def evaluate(self, expression: str) -> str:
        return self._evaluate(expression)

    def wait_for(self, condition: str) -> None:
        """Until an expression is true, looking again and again."""
        until = time.monotonic() + SECONDS
        asked = f"(async () => Boolean(await ({condition})))()"
        while not self._answers(asked):
            assert time.monotonic() < until, (condition, self.text())
            time.sleep(0.05)

    def settle(self) -> None:
        """Until everything that the page asked for has come, and is painted."""
        until = time.monotonic() + SECONDS
        while True:
            if self._answers(f"{_TWO_FRAMES}.then(() => true)") and not self._is_waiting():
                return
            assert time.monotonic() < until, ("the page waits", self.text())

    def _answers(self, expression: str) -> bool:
        """Whether it is true. A page that is left meanwhile does not answer; the next one may."""
        try:
            return self._evaluate(expression) == "True"
        except PageWasLeft:
            return False

    def rest(self) -> None:
        """Until nothing moves any more."""
        self.wait_for(_IS_STILL)

    def _is_waiting(self) -> bool:
        """A stream of events never ends; the answer to it, once begun, is all that comes. A new
        page wants nothing of what the one before it asked for."""
        waiting: set[str] = set()
        for event in self._events:
            method, params = event["method"], event["params"]
            if method == "Network.requestWillBeSent":
                if params.get("type") == "Document":
                    waiting.clear()
                waiting.add(params["requestId"])
            elif method in _ENDS or (
                method == "Network.responseReceived" and params["type"] == "EventSource"
            ):
                waiting.discard(params["requestId"])
        return bool(waiting)

    def hold(self, path: str) -> None:
        """From now on the answers from there wait until `let_go`."""
        pattern = {"urlPattern": f"{self.origin}{path}", "requestStage": "Response"}
        self._ask("Fetch.enable", patterns=[pattern])

    def wait_for_held(self) -> None:
        """Until the server has done what it was asked for, and the page does not know of it."""
        while not self._held():
            self._chromium.read()

    def let_go(self, *, is_lost: bool = False) -> None:
        """What is held arrives, or is lost on its way; nothing is held any more."""
        for event in self._held():
            request = {"requestId": event["params"]["requestId"]}
            if is_lost:
                self._ask("Fetch.failRequest", **request, errorReason="ConnectionReset")
            else:
                self._ask("Fetch.continueRequest", **request)
            self._events.remove(event)
        self._ask("Fetch.disable")

    def _held(self) -> list[Event]:
        return [it for it in self._events if it["method"] == "Fetch.requestPaused"]

    def grow_old(self) -> None:
        """What the page knows is asked for anew, as when its tab is looked at minutes later."""
        self._evaluate(
            "{ const now = Date.now.bind(Date); Date.now = () => now() + 120_000;"
            " window.dispatchEvent(new Event('visibilitychange')); }"
        )

    @property
    def ran(self) -> list[str]:
        """What payloads have called."""
        return self._called("ran")

    @property
    def was_asked_to_stay(self) -> bool:
        """Whether the browser has asked before it left a page. It was told to leave."""
        return any(it["method"] == "Page.javascriptDialogOpening" for it in self._events)

    def touch(self) -> None:
        """Everything in the page that can be touched, without pressing it."""
        self._evaluate(TOUCH)

    def wait_for_text(self, text: str) -> None:
        self.wait_for(f"document.body?.innerText.includes({json.dumps(text)})")

    def text(self) -> str:
        """All that can be read."""
        return self._evaluate("document.body.innerText")

    def click(self, name: str) -> None:
        self._use(name, _CLICKABLE, "found.focus(); found.click();")

    def type(self, name: str, text: str) -> None:
        """Into the field with that label, in place of what was there."""
        self._use(name, _FIELDS, "found.focus(); found.select?.();")
        self._ask("Input.insertText", text=text)

    def press(self, key: str, *, control: bool = False) -> None:
        parts = _KEYS.get(key) or {"key": key, "code": f"Key{key.upper()}", "text": key}
        modifiers = 2 if control else 0
        for kind in ("keyDown", "keyUp"):
            self._ask("Input.dispatchKeyEvent", type=kind, modifiers=modifiers, **parts)

    def paste(self, text: str) -> None:
        """Somewhere in the page, as with Control and V."""
        self._evaluate(
            "{ const data = new DataTransfer(); data.setData('text/plain', "
            + json.dumps(text)
            + "); document.activeElement.dispatchEvent(new ClipboardEvent('paste',"
            " {clipboardData: data, bubbles: true, cancelable: true})); }"
        )

    def drag(self, selector: str, start: float, end: float) -> None:
        """With the mouse over a part of the page, from one share of its width to another; from a
        place to itself is a double click."""
        left, top, width, height = json.loads(
            self._evaluate(
                f"(() => {{ const it = document.querySelector({json.dumps(selector)});"
                " it.scrollIntoView({block: 'center'}); const box = it.getBoundingClientRect();"
                " return JSON.stringify([box.x, box.y, box.width, box.height]); })()"
            )
        )
        at = {"y": top + height / 2, "button": "left"}
        places = [left + width * share for share in (start, (start + end) / 2, end)]
        self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=places[0], y=at["y"])
        for count in (1, 2) if start == end else (1,):
            press = {**at, "clickCount": count}
            self._ask("Input.dispatchMouseEvent", type="mousePressed", x=places[0], **press)
            for x in places[1:]:
                self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, buttons=1, **at)
            self._ask("Input.dispatchMouseEvent", type="mouseReleased", x=places[2], **press)

    def clipboard(self) -> str:
        return self._evaluate("navigator.clipboard.readText()")

    def tick(self, name: str, *, shift: bool = False) -> None:
        """A box or a switch, on or off."""
        event = f"new MouseEvent('click', {{bubbles: true, shiftKey: {json.dumps(shift)}}})"
        self._use(name, "[type=checkbox], [type=radio]", f"found.dispatchEvent({event});")

    def choose(self, name: str, value: str) -> None:
        """In a list, or a day in a calendar."""
        act = f"""const kind = Object.getPrototypeOf(found);
            Object.getOwnPropertyDescriptor(kind, "value").set.call(found, {json.dumps(value)});
            found.dispatchEvent(new Event("input", {{bubbles: true}}));
            found.dispatchEvent(new Event("change", {{bubbles: true}}));"""
        self._use(name, _FIELDS, act)

    def give(self, name: str, text: str) -> None:
        """A file with that name to the page's field for files."""
        self.wait_for("document.querySelector('[type=file]') !== null")
        self._evaluate(
            "{ const data = new DataTransfer(); data.items.add(new File(["
            f"{json.dumps(text)}], {json.dumps(name)}));"
            " const field = document.querySelector('[type=file]'); field.files = data.files;"
            " field.dispatchEvent(new Event('change', {bubbles: true})); }"
        )

    def save_into(self, folder: Path) -> None:
        """Where files land that the page hands out from now on."""
        folder.mkdir(parents=True, exist_ok=True)
        self._ask("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def value(self, name: str) -> str:
        found: str = self._use(name, _FIELDS, "return found.value;")
        return found

    @property
    def complaints(self) -> list[str]:
        """Policy violations, errors of scripts, and what the console calls one. Answers that were
        refused (4xx) are none."""
        found = [f"stopped: {directive}" for directive in self._called("stopped")]
        for event in self._events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(params["exceptionDetails"])[:500])
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
                found.append(json.dumps(params["args"])[:500])
            elif event["method"] == "Log.entryAdded" and params["entry"]["source"] != "network":
                found.append(params["entry"]["text"])
        return found

    def barriers(self, *, only_colours: bool = False) -> list[str]:
        """What keeps people out who do not see well or have no mouse, as axe finds it. Only colours
        are looked at where nothing else has changed: that is much quicker."""
        self.rest()  # a colour on its way to another is neither
        if self._evaluate("typeof axe") == "undefined":
            self._evaluate(AXE.read_text() + "; 0")
        found = self._evaluate(_BARRIERS % json.dumps(_COLOURS if only_colours else _TAGS))
        return [str(it) for it in json.loads(found)]

    def picture(self, path: Path, *, is_whole: bool = True) -> None:
        """Only where somebody wants to look at it."""
        if PICTURES is None:
            return
        taken = self._ask("Page.captureScreenshot", captureBeyondViewport=is_whole)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b64decode(taken["data"]))

    def _use(self, name: str, kind: str, act: str) -> Any:
        find = f"({_FIND})({json.dumps(name)}, {json.dumps(kind)})"
        self.wait_for(f"{find} !== undefined")
        return self._evaluate(f"(() => {{ const found = {find}; {act} }})()")
