"""One cold start: open a runtime, run one program, say so. Timed from outside, so it imports nothing that a user would not."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from gristmill import Runtime


async def main(folder: Path, venv: str | None) -> None:
    """By a file, as users open one; with a folder of packages, pandas is preloaded."""
    pandas = f'\n[sandbox]\nvenv = {json.dumps(venv)}\npreload_packages = ["pandas"]\n' if venv else ""
    file = folder / "gristmill.toml"
    file.write_text(f"[store]\npath = {json.dumps(str(folder / 'state'))}\n{pandas}")
    async with Runtime.open(file) as runtime:
        outcome = await runtime.execute("print(1+1)")
        print("first" if outcome.output == "2\n" else outcome, flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder), sys.argv[1] if len(sys.argv) > 1 else None))
