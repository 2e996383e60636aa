"""What is set aside is not looked through again until all is. In its own process: it concerns all of one."""

from __future__ import annotations

import subprocess
import sys

_STORY = """
import gc, sys, weakref
sys.path[:0] = [".", "platform"]
from console.garbage import set_aside_tables

class Ring:
    pass

def ring():
    made = Ring()
    made.self = made
    return made

gc.disable()
new = weakref.ref(ring())
kept = ring()
set_aside_tables()
assert new() is None, "a new cycle is found"
assert gc.get_freeze_count() > 0
old = weakref.ref(kept)
del kept
set_aside_tables()
assert old() is not None, "what was set aside is not looked at"
set_aside_tables(looks_at_all=True)
assert old() is None, "until all is"
assert gc.get_freeze_count() > 0
"""


def test_what_was_set_aside_waits_for_a_look_at_all() -> None:
    done = subprocess.run([sys.executable, "-c", _STORY], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
