"""Creates the state folder and the folders below it, and checks that they can be written before anything else is opened."""

import os
import tempfile
from pathlib import Path

from gristmill.errors import ConfigError

NOBODY_ID = 65_534
"""The user and group that code runs as, and that workspaces belong to, if the gateway runs as root."""


def check_state_folder(path: Path) -> None:
    """Checks that the state folder can be written; it is created if it is missing.

    Raises:
        ConfigError: it cannot be created or written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return
    except OSError as error:
        raise _explain_problem(path, error) from None


def make_state_folder(path: Path) -> Path:
    """Returns ``path``, a folder below the state folder, created if it is missing.

    Raises:
        ConfigError: it cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            path.chmod(0o711)  # code then runs as another user: it may pass through the folder, but not list it
    except OSError as error:
        raise _explain_problem(path, error) from None
    return path


def _explain_problem(path: Path, error: OSError) -> ConfigError:
    reason = error.strerror or type(error).__name__
    advice = "make it writable, or set another folder as `path` under [store] (or as GRISTMILL_STORE__PATH)"
    return ConfigError(f"the state folder {path} cannot be written ({reason}): {advice}")
