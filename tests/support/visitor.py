"""A person at the dashboard: a real browser that reads, types, clicks and takes pictures."""

import asyncio
import json
import os
import re
import time
from pathlib import Path
from typing import Any

from playwright.async_api import (
    ConsoleMessage,
    Download,
    Locator,
    Request,
    Response,
    Route,
)
from playwright.async_api import (
    Error as PlaywrightError,
)

from support.browser import SECONDS, TOUCH, Browser, Chromium

# A folder to keep pictures of pages in.
PICTURES = os.environ.get("KURZ_TEST_PICTURES")
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP = (1280, 800)
PHONE = (390, 844)
TABLET = (820, 1180)
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# What lies behind a dialog cannot be pressed, so its size does not matter.
_BARRIERS = """axe.run(document, {runOnly: %s, resultTypes: ["violations"]}).then((result) => {
  const dialog = document.querySelector("[role=dialog]") ?? document;
  const counts = (rule, it) =>
    rule.id !== "target-size" || dialog.contains(document.querySelector(it.target[0]));
  return result.violations.flatMap((rule) => rule.nodes.filter((it) => counts(rule, it))
    .map((it) => `${rule.id}: ${it.target} ${it.failureSummary}`));
})"""
_COLOURS = ["color-contrast"]
_IS_STILL = """document.getAnimations().every((it) =>
  it.playState !== "running" || it.effect.getComputedTiming().endTime === Infinity)"""
_TWO_FRAMES = """new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done)))"""
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
# What the console says of answers that were refused (4xx), which is no mistake of a page.
_REFUSED = "Failed to load resource"


class Visitor(Browser):
    """Its page's policy holds. `complaints` are what the browser's console said went wrong."""

    def __init__(self, chromium: Chromium, origin: str) -> None:
        super().__init__(chromium, bypasses_policy=False)
        self.origin = origin
        self._errors: list[str] = []
        self._waiting: set[Request] = set()

    async def _start(self) -> None:
        await super()._start()
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self._errors.append(str(error)[:500]))
        self.page.on("request", self._note_request)
        self.page.on("response", self._note_response)
        self.page.on("requestfinished", self._note_end)
        self.page.on("requestfailed", self._note_end)
        await self._resize(*DESKTOP)

    def begin_with(self, script: str) -> None:
        """Before those of every page from now on."""
        self._run(self.page.add_init_script(script))

    def slow_down(self, times: float) -> None:
        """As on a machine that is so many times slower."""
        self._run(self._protocol.send("Emulation.setCPUThrottlingRate", {"rate": times}))

    def block(self, *addresses: str) -> None:
        """Nothing comes from them any more; `*` stands for anything."""
        self._run(self.page.unroute_all())
        for address in addresses:
            self._run(self.page.route(_pattern(address), lambda route: route.abort()))

    def connect(self, *, is_there: bool) -> None:
        """Brings the connection back, or takes it away."""
        self._run(self._context.set_offline(not is_there))

    def shifted(self) -> float:
        """How much of what is seen has moved by itself since the page began to load."""
        return float(self.evaluate(_SHIFTED))

    def resize(self, width: int, height: int) -> None:
        self._run(self._resize(width, height))

    async def _resize(self, width: int, height: int) -> None:
        is_phone = width < 600
        metrics = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 2 if is_phone else 1,
            "mobile": is_phone,
        }
        await self._protocol.send("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, colours: str, language: str = "en") -> None:
        """As a person sets their system: `light` or `dark`, and the language."""
        self._run(self.page.emulate_media(color_scheme="dark" if colours == "dark" else "light"))
        agent = {"userAgent": self.evaluate("navigator.userAgent"), "acceptLanguage": language}
        self._run(self._protocol.send("Emulation.setUserAgentOverride", agent))

    def visit(self, path: str) -> None:
        """Goes to a page and waits until it shows something."""
        self._run(self.page.goto(self.origin + path))
        self.wait_for("document.querySelector('h1, h2, form') !== null")

    def wait_for(self, condition: str) -> None:
        """Until an expression, or what it promises, is true."""
        until = time.monotonic() + SECONDS
        asked = f"(async () => Boolean(await ({condition})))()"
        while not self._answers(asked):
            assert time.monotonic() < until, (condition, self.text())
            time.sleep(0.05)

    def settle(self) -> None:
        """Until everything that the page asked for has come, and is painted."""
        until = time.monotonic() + SECONDS
        while True:
            if self._answers(f"{_TWO_FRAMES}.then(() => true)") and not self._waiting:
                return
            assert time.monotonic() < until, ("the page waits", self.text())

    def _answers(self, expression: str) -> bool:
        """Whether it is true. A page that is left meanwhile does not answer; the next one may."""
        try:
            return self.evaluate(expression) == "True"
        except PlaywrightError as error:
            if "Execution context was destroyed" not in error.message:
                raise
            return False

    def rest(self) -> None:
        """Until nothing moves any more."""
        self.wait_for(_IS_STILL)

    def _note_request(self, request: Request) -> None:
        """A new page wants nothing of what the one before it asked for."""
        if request.is_navigation_request():
            self._waiting.clear()
        self._waiting.add(request)

    def _note_response(self, response: Response) -> None:
        """A stream of events never ends; the answer to it, once begun, is all that comes."""
        if response.request.resource_type == "eventsource":
            self._waiting.discard(response.request)

    def _note_end(self, request: Request) -> None:
        self._waiting.discard(request)

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(_REFUSED):
            self._errors.append(message.text[:500])

    def hold(self, path: str) -> None:
        """From now on the answers from there wait until `let_go`."""
        self._run(self._hold(path))

    async def _hold(self, path: str) -> None:
        loop = asyncio.get_running_loop()
        has_come: asyncio.Future[None] = loop.create_future()
        is_lost: asyncio.Future[bool] = loop.create_future()
        self._held = has_come, is_lost

        async def wait(route: Route) -> None:
            answer = await route.fetch()
            if not has_come.done():
                has_come.set_result(None)
            if await is_lost:
                await route.abort("connectionreset")
            else:
                await route.fulfill(response=answer)

        await self.page.route(_pattern(self.origin + path), wait)

    def wait_for_held(self) -> None:
        """Until the server has done what it was asked for, and the page does not know of it."""

        async def wait() -> None:
            await asyncio.wait_for(self._held[0], SECONDS)

        self._run(wait())

    def let_go(self, *, is_lost: bool = False) -> None:
        """What is held arrives, or is lost on its way; nothing is held any more."""

        async def release() -> None:
            self._held[1].set_result(is_lost)
            await self.page.unroute_all(behavior="wait")

        self._run(release())

    def grow_old(self) -> None:
        """What the page knows is asked for anew, as when its tab is looked at minutes later."""
        self.evaluate(
            "{ const now = Date.now.bind(Date); Date.now = () => now() + 120_000;"
            " window.dispatchEvent(new Event('visibilitychange')); }"
        )

    @property
    def ran(self) -> list[str]:
        """What payloads have called."""
        return self._calls("ran")

    @property
    def was_asked_to_stay(self) -> bool:
        """Whether the browser has asked before it left a page. It was told to leave."""
        return "beforeunload" in self._dialogs

    def touch(self) -> None:
        """Everything in the page that can be touched, without pressing it."""
        self.evaluate(TOUCH)

    def wait_for_text(self, text: str) -> None:
        self.wait_for(f"document.body?.innerText.includes({json.dumps(text)})")

    def text(self) -> str:
        """All that can be read."""
        return self.evaluate("document.body.innerText")

    def click(self, name: str) -> None:
        """As by the keyboard: the mouse stays where it is, and colours nothing."""
        thing = self._named(name, _CLICKABLE)
        self._run(thing.evaluate("(it) => { it.focus(); it.click(); }"))

    def type(self, name: str, text: str) -> None:
        """Into the field with that label, in place of what was there."""
        self._run(self._named(name, _FIELDS).fill(text))

    def press(self, key: str, *, control: bool = False) -> None:
        self._run(self.page.keyboard.press(f"Control+{key}" if control else key))

    def paste(self, text: str) -> None:
        """Somewhere in the page, as with Control and V."""
        self.evaluate(
            "{ const data = new DataTransfer(); data.setData('text/plain', "
            + json.dumps(text)
            + "); document.activeElement.dispatchEvent(new ClipboardEvent('paste',"
            " {clipboardData: data, bubbles: true, cancelable: true})); }"
        )

    def drag(self, selector: str, start: float, end: float) -> None:
        """With the mouse over a part of the page, from one share of its width to another; from a
        place to itself is a double click."""
        self._run(self._drag(self.page.locator(selector), start, end))

    async def _drag(self, part: Locator, start: float, end: float) -> None:
        await part.evaluate("(it) => it.scrollIntoView({block: 'center'})")
        box = await part.bounding_box()
        assert box is not None, part
        x, y = box["x"] + box["width"] * start, box["y"] + box["height"] / 2
        mouse = self.page.mouse
        if start == end:
            await mouse.dblclick(x, y)
            return
        await mouse.move(x, y)
        await mouse.down()
        await mouse.move(box["x"] + box["width"] * end, y, steps=2)
        await mouse.up()

    def clipboard(self) -> str:
        return self.evaluate("navigator.clipboard.readText()")

    def tick(self, name: str, *, shift: bool = False) -> None:
        """A box or a switch, on or off."""
        box = self._named(name, "[type=checkbox], [type=radio]")
        # The box itself may be invisible, under a drawn one.
        self._run(box.dispatch_event("click", {"bubbles": True, "shiftKey": shift}))

    def choose(self, name: str, value: str) -> None:
        """In a list, or a day in a calendar."""
        self._run(self._choose(self._named(name, _FIELDS), value))

    async def _choose(self, field: Locator, value: str) -> None:
        if await field.evaluate("(it) => it.tagName") == "SELECT":
            await field.select_option(value)
        else:
            await field.fill(value)

    def give(self, name: str, text: str) -> None:
        """A file with that name to the page's field for files."""
        file: Any = {"name": name, "mimeType": "text/plain", "buffer": text.encode()}
        self._run(self.page.set_input_files("[type=file]", file))

    def save_into(self, folder: Path) -> None:
        """Where files land that the page hands out from now on."""
        folder.mkdir(parents=True, exist_ok=True)

        async def save(download: Download) -> None:
            part = folder / f"{download.suggested_filename}.part"
            await download.save_as(part)
            part.rename(folder / download.suggested_filename)

        self.page.on("download", save)

    def value(self, name: str) -> str:
        return self._run(self._named(name, _FIELDS).input_value())

    @property
    def complaints(self) -> list[str]:
        """Policy violations, errors of scripts, and what the console calls one. Answers that were
        refused (4xx) are none."""
        return [f"stopped: {it}" for it in self._calls("stopped")] + self._errors

    def barriers(self, *, only_colours: bool = False) -> list[str]:
        """What keeps people out who do not see well or have no mouse, as axe finds it. Only colours
        are looked at where nothing else has changed: that is much quicker."""
        self.rest()  # a colour on its way to another is neither
        if self.evaluate("typeof axe") == "undefined":
            self.evaluate(AXE.read_text() + "; 0")
        tags = json.dumps(_COLOURS if only_colours else _TAGS)
        found: list[str] = self._run(self.page.evaluate(_BARRIERS % tags))
        return found

    def picture(self, path: Path, *, is_whole: bool = True) -> None:
        """Only where somebody wants to look at it."""
        if PICTURES is not None:
            self._run(self.page.screenshot(path=path, full_page=is_whole))

    def _named(self, name: str, kind: str) -> Locator:
        return self.page.locator(f"named={json.dumps([name, kind], ensure_ascii=False)}")


def _pattern(address: str) -> re.Pattern[str]:
    """`*` stands for anything."""
    return re.compile("^" + ".*".join(re.escape(part) for part in address.split("*")) + "$")
