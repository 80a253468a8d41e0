"""Pauses Python's garbage collector for a moment.

The collector starts after a number of new objects and then looks at all old ones. Masking a table creates very many objects at
once, none of them in a cycle: the collector would take a third of the time and find nothing.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def pause_collection() -> Generator[None]:
    """Turns off garbage collection inside the ``with`` block; a collection that is due runs right after it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
