"""What makes a process that does nothing but transfer faster. A server does other things too."""

import gc
import sys


def favour_throughput() -> None:
    """Rows make many objects and no cycles: looking for those takes a third of an import. And the
    thread that writes to SQLite would wait 5 ms for the interpreter after every statement."""
    gc.freeze()
    gc.set_threshold(1_000_000, 20, 20)
    sys.setswitchinterval(0.0005)
