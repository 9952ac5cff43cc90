"""Compares what a document shows with what really came: names of fields, statuses, columns,
sentences; not numbers and times. Learns which value of the document stands for which real one."""

import json
import re
from typing import Any

_PAIR = re.compile(r'"([a-zA-Z_]+)":\s*("(?:[^"\\]|\\.)*"|true|false|null|-?\d[\d.]*)')
_NAME = re.compile(r'"([a-zA-Z_]+)":')
_ADDRESS = re.compile(r"https?://\S+")
# Fields whose values are words of the API, not of the sample.
_WORDS = {"status", "type", "title", "result", "link_type", "host", "record_name"}


MIN_LEARNT = 6  # characters of a value: shorter ones stand in other places by chance


class Differs(AssertionError):
    pass


def compare(shown: list[str], output: str) -> dict[str, str]:
    """Raises `Differs`; gives what was learnt. `…` stands for anything."""
    learnt: dict[str, str] = {}
    lines = [line for line in shown if line.strip() and line.strip() != "…"]
    if not lines:
        return learnt
    text = "\n".join(lines)
    if lines[0].startswith(("{", "[")):
        _compare_json(text, output, learnt)
        return learnt
    for line in lines:
        if line.startswith("{"):
            _compare_json(line, output, learnt)
        else:
            _compare_line(line, output, learnt)
    return learnt


def translated(text: str, known: dict[str, str]) -> str:
    """With what is meant instead of what the document writes. The longest first: `kurz_abc_…` and
    `kurz_abc_def` may both be known."""
    if not known:
        return text
    known = dict(known)
    for cut in re.findall(r"[\w-]{8,}(?=…)", text):  # the beginning of what was shown whole
        whole = next((name for name in known if name.startswith(cut)), None)
        if whole is not None:
            known[f"{cut}…"] = known[whole]
    names = sorted(known, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, names)), lambda found: known[found[0]], text)


def _compare_json(text: str, output: str, learnt: dict[str, str]) -> None:
    body = output.strip().splitlines()[-1] if output.startswith("HTTP/") else output
    real = _fields(json.loads(body))
    for name in _NAME.findall(text):
        if name not in real:
            raise Differs(f"there is no field {name} in {body[:300]}")
    for name, written in _PAIR.findall(text):
        values = real[name]
        if name in _WORDS or written in ("true", "false", "null"):
            if json.loads(written) not in values and "…" not in written:
                raise Differs(f"{name} is {values[:3]}, not {written}")
        elif len(written) >= MIN_LEARNT and values and isinstance(values[0], str | int):
            learnt[written.strip('"')] = str(values[0])


def _fields(value: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    waiting = [value]
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, dict):
            for name, inner in item.items():
                found.setdefault(name, []).append(inner)
        waiting += (
            item.values() if isinstance(item, dict) else item if isinstance(item, list) else []
        )
    return found


def _compare_line(line: str, output: str, learnt: dict[str, str]) -> None:
    header = re.fullmatch(r"([a-z-]+): (.+)", line)
    if _ADDRESS.fullmatch(line):
        _compare_address(line, output, learnt)
    elif line.isdigit() or line.startswith("HTTP/"):  # a status
        if line not in output.splitlines():
            raise Differs(f"{output.splitlines()[0]}, not {line}")
    elif header and output.startswith("HTTP/"):
        value = re.search(rf"(?im)^{header[1]}: (.+)$", output)
        if value is None:
            raise Differs(f"there is no header {header[1]}")
        learnt[header[2]] = value[1]
    else:
        _compare_words(line, output)


def _compare_words(line: str, output: str) -> None:
    cells = re.split(r"\s{2,}", line.strip())
    if any(map(str.isdigit, line)) and not line.startswith("kurz: "):
        cells = [" ".join(cells[0].split(" ")[:3])]
    flat = _plain(output)
    for word in map(_plain, cells):
        if word and word not in flat:
            raise Differs(f"“{word}” is not in {output[:500]}")


def _compare_address(line: str, output: str, learnt: dict[str, str]) -> None:
    """Another code or token at its end is what was learnt."""
    real = _ADDRESS.search(output)
    if real is None:
        raise Differs(f"there is no address in {output[:300]}")
    known, found = re.split(r"[/#]", line), re.split(r"[/#]", real[0])
    if known[:-1] != found[:-1]:
        raise Differs(f"{real[0]} is not of the form {line}")
    learnt[known[-1]] = found[-1]


def _plain(text: str) -> str:
    """Without what is another each time."""
    text = _ADDRESS.sub("", text)
    return re.sub(r"\s+", " ", re.sub(r"[\d,.…]+|(?<=/)[A-Za-z0-9]{7}\b", "", text)).strip()
