"""The browser of the tests: the distribution's Chromium."""

import shutil


def program() -> str:
    """The browser; fails if it is not installed, and says how to install it."""
    found = shutil.which("chromium")
    if found is None:
        raise FileNotFoundError("Chromium is missing: run `python -m tests.servers` as root, or install the package chromium")
    return found
