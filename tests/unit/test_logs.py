"""Log lines for people: whatever strangers sent, a line is a line and a terminal stays as it is."""

import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest
import structlog

from data.payloads import SEQUENCES
from kurz import logs


@pytest.fixture(params=["text", "json"])
def log(request: pytest.FixtureRequest) -> Iterator[Callable[[], list[str]]]:
    """Gives the lines so far; afterwards logs are as they were."""
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    logs.configure("debug", request.param, stream)
    structlog.configure(cache_logger_on_first_use=False)
    yield lambda: stream.getvalue().split("\n")[:-1]
    structlog.configure(**before)
    root.handlers[:], root.level = handlers, level


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
    assert "bytes more" in lines[1]


@pytest.mark.parametrize("text", ["x" * 1024, "ü" * 512], ids=["plain", "umlauts"])
def test_texts_of_a_kilobyte_stay_whole(log, text):
    structlog.get_logger().info("request", path=text)
    [line] = log()
    assert text in line or json.dumps(text) in line
