"""Log lines for people: whatever strangers sent, a line is a line and a terminal stays as it is."""

import asyncio
import contextlib
import io
import itertools
import json
import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import structlog

from data.payloads import SEQUENCES
from kurz import logs


@pytest.fixture(params=["text", "json"])
def log(request: pytest.FixtureRequest) -> Iterator[Callable[[], list[str]]]:
    """Gives the lines so far; afterwards logs are as they were."""
    stream = io.StringIO()
    with logging_to(stream, request.param):
        yield lambda: stream.getvalue().split("\n")[:-1]


@contextlib.contextmanager
def logging_to(stream: io.StringIO, log_format: str) -> Iterator[None]:
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logs.configure("debug", log_format, stream)
    structlog.configure(cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
        root.handlers[:], root.level = handlers, level


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "has_colours"),
    [({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_a_terminal_gets_colours_unless_nobody_wants_them(monkeypatch, environment, has_colours):
    for name, value in ({"TERM": "xterm", "NO_COLOR": ""} | environment).items():
        monkeypatch.setenv(name, value)
    screen = Screen()
    with logging_to(screen, "auto"):
        structlog.get_logger().info("shown")
    assert "shown" in screen.getvalue()
    assert ("\x1b" in screen.getvalue()) == has_colours


@pytest.mark.parametrize("text", [*SEQUENCES, "x\n2026-01-01T00:00:00Z [info     ] forged"])
def test_an_event_is_a_line_that_can_be_printed(log, text):
    structlog.get_logger().info("request", path=f"/api/{text}", several=[text])
    structlog.get_logger().info(text)
    logging.getLogger("a library").warning("refused: %s", text)
    lines = log()
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("text", SEQUENCES)
def test_a_mistake_forges_no_event(log, text):
    try:
        raise ValueError(f"{text}\n2026-01-01T00:00:00Z [info     ] forged")
    except ValueError:
        structlog.get_logger().exception("failed")
    first, *others = log()
    assert "failed" in first
    assert all(line.isprintable() for line in (first, *others))
    assert all(line.startswith("    ") for line in others)


def test_letters_that_can_be_printed_stay(log):
    structlog.get_logger().info("Grüße", path="/ünï/©")
    [line] = log()
    assert "Grüße" in line or "Gr\\u00fc\\u00dfe" in line


@pytest.mark.parametrize(
    "text",
    ["x" * 100_000, "ü" * 50_000, "\ud800" * 2000, "\x1b[31m" * 5000],
    ids=["plain", "umlauts", "surrogates", "sequences"],
)
def test_texts_of_strangers_are_cut(log, text):
    """A kilobyte of each says enough, and a flood of long ones fills no disk."""
    root = logging.getLogger()
    root.handlers[:] = root.handlers[:1]  # pytest's own would send surrogates to the main process
    logger = structlog.get_logger()
    logger.info("request", path=text, several=[text] * 1000, named={"host": text})
    logger.info(text)
    logging.getLogger("a library").warning("refused: %s", text)
    try:
        raise ValueError(text)
    except ValueError:
        logger.exception("failed")
    lines = log()
    assert len(lines) >= 4
    escaped = 6 * (logs.MAX_TEXT_BYTES + 30)  # a byte as `\u001b`
    assert len(lines[0]) <= (2 + logs.MAX_ITEMS) * escaped + 1000
    assert all(len(line) <= 2 * escaped + 3000 for line in lines[1:])
    assert "more bytes" in lines[1]


@pytest.mark.parametrize("text", ["x" * 1024, "ü" * 512], ids=["plain", "umlauts"])
def test_texts_of_a_kilobyte_stay_whole(log, text):
    structlog.get_logger().info("request", path=text)
    [line] = log()
    assert text in line or json.dumps(text) in line


def test_a_line_that_repeats_is_written_once_then_as_a_count():
    seconds = [0.0]
    repeats = logs.Repeats(lambda: seconds[0])

    def tell(**fields: object) -> bool:
        """Whether it was written."""
        try:
            repeats(None, "", {"level": "warning", "event": "unavailable", **fields})
        except structlog.DropEvent:
            return False
        return True

    assert [tell(detail="down", request_id=str(number)) for number in range(4)] == [True] + [
        False
    ] * 3
    assert tell(detail="full")  # which is another trouble
    assert tell(level="info")
    assert tell(level="info")
    assert repeats.take_due() == []
    seconds[0] = 60.0
    expected = {"level": "warning", "event": "unavailable", "detail": "down", "repeated": 3}
    assert repeats.take_due() == [expected]
    assert not tell(detail="down")  # still the same outage
    seconds[0] = 120.0
    assert repeats.take_due() == [expected | {"repeated": 1}]
    seconds[0] = 180.0
    assert repeats.take_due() == []
    assert tell(detail="down")


def test_lines_that_strangers_cause_are_not_remembered_without_end():
    repeats = logs.Repeats(lambda: 0.0)
    for number in range(3 * logs.MAX_LINES):
        repeats(None, "", {"level": "error", "event": "request failed", "path": f"/{number}"})
    assert len(repeats._lines) == logs.MAX_LINES


def test_different_mistakes_are_different_lines(log):
    for mistake in (ValueError("one"), ValueError("one"), ValueError("two")):
        try:
            raise mistake
        except ValueError:
            structlog.get_logger().exception("failed")
    assert "".join(log()).count("failed") == 2


def test_lines_of_libraries_are_counted_too(log):
    library = logging.getLogger("a library")
    for place in (0x7F5624838F90, 0x7F5624838A10):
        library.error("Fatal error on <Connection object at %s>", hex(place))
    assert len(log()) == 1


def test_errors_of_cancelled_work_in_libraries_are_dropped(log):
    library = logging.getLogger("a library")
    for error in (asyncio.CancelledError(), OSError("gone")):
        library.error("Exception terminating connection", exc_info=error)
    assert "gone" in "".join(log())
    assert "CancelledError" not in "".join(log())


def test_processes_that_cannot_start_for_the_same_reason_are_one_line(log):
    logger = structlog.get_logger()
    for pid in (1, 2, 3):
        logger.error("process ended", pid=pid, pause_seconds=pid / 10, reason="no database")
    for pid in (4, 5):  # which crashed, each by itself
        logger.error("process ended", pid=pid)
    assert len(log()) == 3


def test_a_badly_formatted_line_of_a_library_is_its_own_problem(log):
    root = logging.getLogger()
    root.handlers[:] = root.handlers[:1]  # pytest's own would raise
    library = logging.getLogger("a library")
    for _ in range(2):
        library.error("%d bytes", "many")
    library.error("still there")
    assert any("still there" in line for line in log())


def test_threads_may_log_at_the_same_time():
    """Each line is written once, and its repetitions are counted, whoever logs meanwhile."""
    seconds = itertools.count()
    repeats = logs.Repeats(lambda: next(seconds) / 10)
    told, threads = 3000, 4
    counts: list[int] = []

    def tell() -> None:
        count = 0
        for number in range(told):
            event = {"level": "error", "event": "failed", "path": str(number % 7)}
            with contextlib.suppress(structlog.DropEvent):
                count += 1 + repeats(None, "", event).get("repeated", 0)
            count += sum(line["repeated"] for line in repeats.take_due())
        counts.append(count)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(tell) for _ in range(threads)]:
                done.result()
    finally:
        sys.setswitchinterval(interval)
    untold = sum(line.repeated for line in repeats._lines.values())
    assert sum(counts) + untold == told * threads
