"""Python's search for cycles, put off for a moment.

It runs after so many new objects and then looks at all old ones. Masking a table makes very many at once, none of them in a
cycle: the search would take a third of the time and find nothing.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Generator[None]:
    """Nothing is looked for within; what is due is done right after."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
