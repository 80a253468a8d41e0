"""Where and on what the figures were made."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def describe() -> dict[str, Any]:
    """CPU, cores, memory, kernel, Python, and how busy the machine was before we began."""
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": int((_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) // 1024,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "user": "root" if os.geteuid() == 0 else "unprivileged",
        "load_before": round(os.getloadavg()[0], 2),
    }


def commit() -> str:
    """The commit that was measured, marked when the tree had changes."""
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        return f"{name}-dirty" if _git("status", "--porcelain", "--", "src", "bench") else name
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _field(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)
