"""Virtual environments for what the benchmarks compare with, so that none of it is a dependency of ours."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "bench" / "out"


def python_with(name: str, requirements: Sequence[str], *, alone: Sequence[str] = ()) -> Path:
    """The interpreter of environment ``name``, made if needed; ``alone`` are installed without their dependencies."""
    folder = ROOT / ".tools" / name
    python = folder / "bin" / "python"
    done = folder / "ready"
    wanted = "\n".join([*requirements, *alone])
    if not done.exists() or done.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        if alone:
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", *alone], check=True)
        done.write_text(wanted)
    return python
