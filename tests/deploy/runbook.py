"""The runbook's commands, to be run as they are written there, with programs that stand in for what is not here."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.deploy.contained import ROOT

PAGE = ROOT / "docs" / "guides" / "operations.md"
BLOCK = re.compile(r"^```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)


def block(words: str) -> str:
    """The one block of the runbook that has ``words`` in it."""
    (found,) = [text for text in BLOCK.findall(PAGE.read_text()) if words in text]
    return found


def run(commands: str, folder: Path, programs: Mapping[str, str], **variables: str) -> str:
    """Run ``commands`` in ``folder``; what they print. ``programs`` are scripts by the name of what they stand in for."""
    stand_ins = folder.parent / f"{folder.name}-programs"
    stand_ins.mkdir(exist_ok=True)
    for name, text in programs.items():
        (stand_ins / name).write_text(f"#!/bin/sh\nset -eu\n{text}")
        (stand_ins / name).chmod(0o755)
    path = ":".join([str(stand_ins), *([variables.pop("PATH")] if "PATH" in variables else []), os.environ["PATH"]])
    # Files that a careful administrator makes are nobody else's.
    words = ["sh", "-euc", f"umask 077\n{commands}"]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **variables, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
