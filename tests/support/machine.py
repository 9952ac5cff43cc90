"""The clocks of a machine, which a test moves."""

from kurz.clock import SteadyClock

SECOND = 1_000_000_000
HOUR = 3600 * SECOND


class Machine:
    """`wall_ns` is what somebody may set; it and the boot clock go on while the machine sleeps."""

    def __init__(self, wall_ns: int = 1_772_366_400 * SECOND) -> None:
        self.wall_ns = wall_ns
        self.boot_ns = 5 * HOUR
        self.running_ns = 3 * HOUR

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.wall_ns, lambda: self.boot_ns, lambda: self.running_ns)

    def wait(self, ns: int) -> None:
        self.sleep(ns)
        self.running_ns += ns

    def sleep(self, ns: int) -> None:
        self.wall_ns += ns
        self.boot_ns += ns
