"""How much garbage a process may gather: settings of the interpreter, so in one of its own."""

import subprocess
import sys

PROGRAM = """
import gc, weakref
from kurz.transfer.tuning import favour_small_memory

class Node: pass

favour_small_memory()
alive = weakref.WeakSet()
most = 0
for _ in range(100_000):
    node = Node()
    node.itself = node  # which only the collector can free
    alive.add(node)
    most = max(most, len(alive))
print(most)
"""


def test_cycles_do_not_pile_up_in_the_background():
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    ).stdout
    assert int(printed) <= 20_000
