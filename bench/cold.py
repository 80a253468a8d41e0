"""One cold start: open a runtime, run one program, say so. Timed from outside, so it imports nothing that a user would not."""

import asyncio
import sys
import tempfile
from pathlib import Path

from gristmill import Config, Runtime
from gristmill.config import SandboxConfig, StoreConfig


async def main(state: Path, venv: str | None) -> None:
    """With a folder of packages, pandas is preloaded."""
    sandbox = SandboxConfig(venv=Path(venv), preload_packages=("pandas",)) if venv else SandboxConfig()
    async with Runtime.open(Config(sandbox=sandbox, store=StoreConfig(path=state))) as runtime:
        outcome = await runtime.execute("print(1+1)")
        print("first" if outcome.output == "2\n" else outcome, flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder), sys.argv[1] if len(sys.argv) > 1 else None))
