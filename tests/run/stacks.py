"""Stacks that differ from the one here, for the fixture `patched_runtime`: a few lines run before the worker's main.

What the graphs and drivers of other devices refuse or get wrong cannot be had here; a generator that does the same
stands for them.
"""

from __future__ import annotations

from textwrap import indent

LAST_ROW_ONLY = """
inner_warm_up = w['Engine']._warm_up
def warm_up(self):
    result = inner_warm_up(self)
    self._all_rows = False
    return result
w['Engine']._warm_up = warm_up
"""
"""A graph that gives the last position's logits alone, as those for an NPU."""

NAN_LOGITS = """
names = w['Engine'].choice.__globals__
inner, calls = names['_last_row'], []
def last_row(logits):
    calls.append(1)
    # The first call is the warm-up's.
    return inner(logits) * (1.0 if len(calls) == 1 else float('nan'))
names['_last_row'] = last_row
"""
"""Logits that are no numbers from the second look on."""

ONE_GENERATOR = """
real, alive = w['Engine']._generator, []
class Only:
    def __init__(self, inner):
        self._inner = inner
        alive.append(1)
    def __del__(self):
        alive.pop()
    def __getattr__(self, name):
        return getattr(self._inner, name)
def generator(self, length):
    inner, params = real(self, length)
    if alive:
        raise RuntimeError('a second generator')
    return Only(inner), params
w['Engine']._generator = generator
"""
"""Only one generator at a time: a second one raises."""


def generators(methods: str, *, room: int = 1) -> str:
    """Generators with other `methods` (source; `self._inner` is the real one), and `room` times as long."""
    return f"""
real = w['Engine']._generator
class Stack:
    def __init__(self, inner):
        self._inner = inner
    def __getattr__(self, name):
        return getattr(self._inner, name)
{indent(methods.strip(), "    ")}
def generator(self, length):
    inner, params = real(self, {room} * length)
    return Stack(inner), params
w['Engine']._generator = generator
"""


def no_second_append(otherwise: str = "raise RuntimeError('continuous decoding is not supported')") -> str:
    """A stack that takes tokens once; at the second time it does `otherwise`."""
    return generators(f"""
used = False
def append_tokens(self, ids):
    if self.used:
        {otherwise}
    self.used = True
    self._inner.append_tokens(ids)
""")


def no_rewind(instead: str) -> str:
    """A stack that does `instead` of rewinding, with room enough that a rewind which does nothing raises nothing."""
    return generators(f"def rewind_to(self, length):\n    {instead}", room=4)
