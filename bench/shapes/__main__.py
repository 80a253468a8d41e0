"""Runs the shapes, all classes or those named, and prints which of them do not what they must."""

import sys
import tempfile
from pathlib import Path

from bench.shapes.read_shapes import list_classes, read_shapes, run_shape
from bench.shapes.shape_tools import TOOLS
from gristmill import BlockingRuntime, Config
from gristmill.config.tree import SandboxConfig, StoreConfig


def main(kinds: list[str]) -> int:
    """Runs the classes; returns how many shapes differ."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # code runs as another user when we are root
        config = Config(sandbox=SandboxConfig(warm=2), store=StoreConfig(path=Path(folder) / "state"))
        with BlockingRuntime(config, tools=TOOLS) as runtime:
            for kind in kinds or list_classes():
                shapes = read_shapes(kind)
                wrong = {shape.name: found for shape in shapes if (found := run_shape(runtime, kind, shape))}
                print(f"{kind}: {len(shapes) - len(wrong)} of {len(shapes)} as they must")
                for name, found in wrong.items():
                    print(f"  {name}: {'; '.join(found)}")
                failed += len(wrong)
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
