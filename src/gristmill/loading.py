"""Modules are loaded, and their models built, without a break. Below everything."""

import gc
import os
from collections.abc import Generator
from contextlib import contextmanager

PLUGINS = "PYDANTIC_DISABLE_PLUGINS"


@contextmanager
def loading() -> Generator[None]:
    """Within, nobody looks for garbage, since what is loaded stays, nor asks every installed package for Pydantic's plugins.

    Together they take a fifth of a start. Whatever models others build later have their plugins.
    """
    was_on, before = gc.isenabled(), os.environ.get(PLUGINS)
    gc.disable()
    os.environ[PLUGINS] = "__all__"
    try:
        yield
    finally:
        os.environ.pop(PLUGINS, None)
        if before is not None:
            os.environ[PLUGINS] = before
        if was_on:
            gc.enable()
