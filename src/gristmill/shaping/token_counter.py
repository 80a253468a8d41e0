"""Counts the tokens that a text costs a model: o200k, by a native counter from a wheel that contains its vocabulary.

Loading takes 0.1 s and 70 MB, so it happens at the first use; call it from a thread. Half of the memory is the vocabulary as the
wheel packs it, which is not read again and is released.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module

from gristmill.shaping.release_memory import release_library_pages

Count = Callable[[str], int]


@cache
def load_token_counter() -> Count | None:
    """Returns the counter, loaded once; None if there is no such wheel (Python 3.14 so far), and the caller then estimates."""
    try:
        module = import_module("rs_bpe.bpe")
        count: Count = module.openai.o200k_base().count
    except (ImportError, AttributeError):
        return None
    release_library_pages(str(module.__file__))
    # A lone surrogate has no UTF-8 form and would be refused.
    return lambda text: count(text.encode(errors="replace").decode())
