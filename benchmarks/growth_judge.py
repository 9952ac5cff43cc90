"""What `growth.py` says about its measurements."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MOST_GROWTH = 3.0
FLOOR_MS = 5.0


@dataclass(frozen=True)
class Expectation:
    """What an operation must reach. All figures are CPU time. It may always grow up to `floor_ms`:
    noise, and lists that are read as a whole up to a limit. `goal_of`: the goal is this many times
    what another operation takes."""

    goal_ms: float | None = None
    goal_of: tuple[float, str] | None = None
    floor_ms: float = FLOOR_MS


@dataclass
class Series:
    """The rounds of an operation on one engine, by the number of links: milliseconds of CPU, and of
    elapsed time."""

    engine: str
    operation: str
    expectation: Expectation
    cpu_ms: dict[int, list[float]] = field(default_factory=dict)
    elapsed_ms: dict[int, list[float]] = field(default_factory=dict)

    def add(self, size: int, cpu_ms: float, elapsed_ms: float) -> None:
        self.cpu_ms.setdefault(size, []).append(cpu_ms)
        self.elapsed_ms.setdefault(size, []).append(elapsed_ms)

    @property
    def cpu(self) -> dict[int, float]:
        return _medians(self.cpu_ms)

    @property
    def elapsed(self) -> dict[int, float]:
        return _medians(self.elapsed_ms)


def _medians(rounds: Mapping[int, Sequence[float]]) -> dict[int, float]:
    return {size: statistics.median(rounds[size]) for size in sorted(rounds)}


def growth(by_size: Mapping[int, float]) -> float | None:
    """How many times as long it takes with the most links as with the fewest. None: there is only
    one size."""
    if len(by_size) < 2:
        return None
    return by_size[max(by_size)] / by_size[min(by_size)]


def grows(by_size: Mapping[int, float], most: float, floor_ms: float) -> bool:
    found = growth(by_size)
    return found is not None and found > most and by_size[max(by_size)] > floor_ms


def goal_ms(series: Series, others: Sequence[Series]) -> float | None:
    """The goal, for the most links."""
    if series.expectation.goal_of is None:
        return series.expectation.goal_ms
    times, operation = series.expectation.goal_of
    for other in others:
        if (other.engine, other.operation) == (series.engine, operation):
            return times * other.cpu[max(other.cpu)]
    return None


def table(found: Sequence[Series], most: float) -> list[list[str]]:
    """A table, with its head."""
    sizes = sorted({size for series in found for size in series.cpu})
    head = [f"{size:,}" for size in sizes]
    rows = [["", *head, "growth", "elapsed", "goal", ""]]
    for series in found:
        cpu, ratio, goal = series.cpu, growth(series.cpu), goal_ms(series, found)
        verdict = "" if goal is None else "met" if cpu[max(cpu)] <= goal else "missed"
        if grows(cpu, most, series.expectation.floor_ms):
            verdict = f"{verdict} GROWS".strip()
        rows.append(
            [
                f"{series.engine}: {series.operation}",
                *(short(cpu[size]) if size in cpu else "" for size in sizes),
                "" if ratio is None else f"{ratio:.1f} ×",
                short(series.elapsed[max(cpu)]),
                "" if goal is None else short(goal),
                verdict,
            ]
        )
    return rows


def short(number: float) -> str:
    """Two or three digits that say something."""
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 1 else f"{number:.3f}"
