"""Names the checkout whose gateway is measured."""

import subprocess
from pathlib import Path


def describe_source(source: Path) -> str:
    """Returns the commit of a checkout, marked if its gateway was changed since."""
    try:
        name = _git(source, "rev-parse", "--short=12", "HEAD")
        return f"{name}-dirty" if _git(source, "status", "--porcelain", "--", "src") else name
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(source: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=source, capture_output=True, text=True, check=True).stdout.strip()
