"""Modules are loaded, and their models built, without a break. Below everything."""

import gc
import os
from _thread import allocate_lock  # what `threading` is made of, which a search from a cold start does without
from collections.abc import Generator
from contextlib import contextmanager

PLUGINS = "PYDANTIC_DISABLE_PLUGINS"

_lock = allocate_lock()
"""Protects what follows: two threads may load at the same time, and only the last one out puts things back."""
_inside = 0
_before: tuple[bool, str | None] = (True, None)


@contextmanager
def loading() -> Generator[None]:
    """Within, nobody looks for garbage, since what is loaded stays, nor asks every installed package for Pydantic's plugins.

    Together they take a fifth of a start. Whatever models others build later have their plugins.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = gc.isenabled(), os.environ.get(PLUGINS)
            gc.disable()
            os.environ[PLUGINS] = "__all__"
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            was_on, plugins = _before
            os.environ.pop(PLUGINS, None)
            if plugins is not None:
                os.environ[PLUGINS] = plugins
            if was_on:
                gc.enable()
