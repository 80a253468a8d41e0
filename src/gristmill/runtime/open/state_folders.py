"""The folders below the state folder."""

import os
from pathlib import Path


def state_folder(path: Path) -> Path:
    """``path``, made if need be."""
    path.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        path.chmod(0o711)  # code runs as another user then: it may pass through, not look around
    return path
