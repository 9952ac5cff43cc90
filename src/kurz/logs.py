"""Log lines: structured, one per event, with the id of the request they belong to."""

import asyncio
import contextlib
import io
import logging
import re
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from threading import RLock
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from kurz.terminals import has_colours

# Set once a request and read only when something is logged: binding it in structlog costs more.
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

# Bytes of any text in a line: headers and paths of strangers must not fill the disk.
MAX_TEXT_BYTES = 1024
MAX_ITEMS = 100  # of a list or mapping in a line

# Which process it is, on every line of it, where there are several of a kind.
_process: dict[str, object] = {}

# Without the values of local variables: headers and bodies with their secrets are among them.
_TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)


WINDOW_SECONDS = 60.0
MAX_LINES = 500  # in memory; clients can cause many
_REPEATABLE = ("warning", "error", "critical")
# What differs between two lines about the same problem.
_VARYING = ("timestamp", "request_id", "exc_info", "seconds", "ms")
# Also ignored in lines with a reason: each process that fails to start has another pid.
_VARYING_BY_REASON = ("pid", "pause_seconds")
_ADDRESS = re.compile(r"\b0x[0-9a-f]+")


class _Line:
    """A line that was written, and how often it came again since."""

    def __init__(self, fields: EventDict, written_at: float) -> None:
        self.fields = fields
        self.written_at = written_at
        self.repeated = 0


class Repeats:
    """A processor. A warning or error like one of the last minute is counted, but not written:
    during an outage, a line for every request would fill the disk. After that minute, a line says
    in `repeated` how many came. Lines that differ in more than time and request are not repeats.
    Threads may use it."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lines: dict[tuple[tuple[str, str], ...], _Line] = {}
        # Reentrant, because the garbage collector may log in the middle of anything.
        self._lock = RLock()

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        if event.get("level") not in _REPEATABLE or "repeated" in event:
            return event
        varying = _VARYING + (_VARYING_BY_REASON if "reason" in event else ())
        fields = {name: _short(value) for name, value in event.items() if name not in varying}
        key = tuple(sorted((name, str(value)) for name, value in fields.items()))
        if error := event.get("exc_info"):
            shown = error if isinstance(error, BaseException) else sys.exception()
            key = (*key, ("error", str(_short(repr(shown)))))
        with self._lock:
            now, line = self._monotonic(), self._lines.pop(key, None)
            if line is not None and now - line.written_at < WINDOW_SECONDS:
                line.repeated += 1
                self._lines[key] = line  # the latest ones are remembered longest
                raise structlog.DropEvent
            self._lines[key] = _Line(fields, now)
            while len(self._lines) > MAX_LINES:
                self._lines.pop(next(iter(self._lines)), None)
        return {**event, "repeated": line.repeated} if line and line.repeated else event

    def take_due(self) -> list[EventDict]:
        """The repeated lines whose minute is over."""
        due: list[EventDict] = []
        with self._lock:
            now = self._monotonic()
            for key, line in list(self._lines.items()):
                if now - line.written_at < WINDOW_SECONDS:
                    continue
                if not line.repeated:
                    self._lines.pop(key, None)
                    continue
                due.append({**line.fields, "repeated": line.repeated})
                line.written_at, line.repeated = now, 0
        return due


class _LibraryRepeats(logging.Filter):
    """The same for lines of libraries. Objects in them differ by their addresses. Errors of
    cancelled work are dropped: a deadline or a stop has cancelled it, and its caller knows."""

    def __init__(self, repeats: Repeats) -> None:
        super().__init__()
        self._repeats = repeats

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, asyncio.CancelledError):
            return False
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001  the handler says what is wrong with it, and raises nothing
            return True
        text = _ADDRESS.sub("0x…", message)
        event = {"level": record.levelname.lower(), "event": text, "exc_info": error}
        try:
            event = {**self._repeats(None, "", event)}
        except structlog.DropEvent:
            return False
        if "repeated" in event:
            record.msg, record.args = f"{text} (repeated {event['repeated']} times)", ()
        return True


_repeats = Repeats()


def tell_repeats() -> None:
    """Call this about once a second."""
    for fields in _repeats.take_due():
        level, event = fields.pop("level"), fields.pop("event")
        getattr(structlog.get_logger(), level)(event, **fields)


class _Unfailing:
    """A stream that ignores a full disk or a closed end: requests are answered without a log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


def configure(level: str, log_format: str, stream: TextIO = sys.stderr) -> None:
    """Sends our events and those of libraries to `stream`, in the same form."""
    global _repeats  # noqa: PLW0603  a process has one log
    _repeats = Repeats()
    as_json = log_format == "json" or (log_format == "auto" and not stream.isatty())
    shared: list[Processor] = [
        _add_request_id,
        _add_process,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render: list[Processor] = (
        [_TRACEBACKS, _shorten, structlog.processors.JSONRenderer()]
        if as_json
        else [
            _shorten,
            _make_printable,
            structlog.dev.ConsoleRenderer(
                colors=has_colours(stream), exception_formatter=_write_traceback
            ),
        ]
    )
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, _repeats, *render],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Unfailing(stream))),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.addFilter(_LibraryRepeats(_repeats))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(threshold, logging.WARNING), force=True)


def name_process(**fields: object) -> None:
    """Puts these fields on every line that this process logs from now on."""
    _process.clear()
    _process.update(fields)


def _add_process(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {**event, **_process} if _process else event


def _add_request_id(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    if (current := request_id.get()) is not None:
        event["request_id"] = current
    return event


def _shorten(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {name: _short(value) for name, value in event.items()}


def _short(value: object) -> object:
    if isinstance(value, str):
        return _short_text(value)
    if isinstance(value, bytes):
        return value[:MAX_TEXT_BYTES]
    if isinstance(value, dict):
        return {name: _short(item) for name, item in list(value.items())[:MAX_ITEMS]}
    if isinstance(value, list | tuple) and not _is_exc_info(value):
        return [_short(item) for item in value[:MAX_ITEMS]]
    return value


def _is_exc_info(value: object) -> bool:
    """What a formatter for terminals must still render."""
    return isinstance(value, tuple) and any(isinstance(item, BaseException) for item in value)


def _short_text(text: str) -> str:
    if len(text) <= MAX_TEXT_BYTES // 4:  # no letter takes more than 4 bytes
        return text
    whole = text.encode(errors="surrogatepass")
    left_out = len(whole) - MAX_TEXT_BYTES
    if left_out <= 0:
        return text
    return whole[:MAX_TEXT_BYTES].decode(errors="ignore") + f"… ({left_out} more bytes)"


def _make_printable(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Paths and other texts come from clients: in a terminal they must neither move the cursor nor
    start a line. (JSON escapes such letters by itself.)"""
    return {
        name: _printable(value) if isinstance(value, str) else value
        for name, value in event.items()
    }


def _write_traceback(target: TextIO, error: ExcInfo) -> None:
    """Indented, so that no line of it looks like another event."""
    plain = io.StringIO()
    structlog.dev.plain_traceback(plain, error)
    target.write(
        "\n".join(f"    {_printable(_short_text(line))}" for line in plain.getvalue().splitlines())
    )


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
