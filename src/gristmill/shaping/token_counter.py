"""How many tokens a text costs a model: o200k by a native counter from a wheel, with its vocabulary inside.

Loading takes 0.1 s and 70 MB, so it waits for the first question; ask from a thread. Half of that is the vocabulary as the
wheel packs it, which nobody reads again.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module

from gristmill.shaping.release_memory import give_back

Count = Callable[[str], int]


@cache
def token_counter() -> Count | None:
    """The counter, loaded once; nothing where there is no such wheel (Python 3.14 so far), and the caller estimates."""
    try:
        module = import_module("rs_bpe.bpe")
        count: Count = module.openai.o200k_base().count
    except (ImportError, AttributeError):
        return None
    give_back(str(module.__file__))
    # A lone surrogate has no UTF-8 and would be refused.
    return lambda text: count(text.encode(errors="replace").decode())
