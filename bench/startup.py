"""Start to the answer of `initialize` on stdio with 20 servers, as a ratio to `import mcp`: `python -m bench.startup`.

Both are started in turns, so that a busy machine slows both; CPU seconds of the processes count, wall time is shown beside.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}  # fmt: skip
SERVERS = 20


def handshake(config: Path) -> tuple[float, float]:
    """Wall and CPU seconds of `gristmill serve` until it has answered."""
    command = [sys.executable, "-m", "gristmill", "serve", "--config", str(config)]
    began = time.perf_counter()
    # As an installed package runs: with bytecode, which the first start writes if it has to.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        wall, cpu = time.perf_counter() - began, _cpu(process.pid)
        process.kill()
    return wall, cpu


def importing() -> tuple[float, float]:
    """The same of a Python that imports the SDK and ends."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import mcp"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "gristmill.toml"
        servers = "".join(f'[servers.s{number}]\ncommand = "cat"\n' for number in range(SERVERS))
        config.write_text(f"{servers}[store]\npath = {str(Path(name) / 'state')!r}\n")
        handshake(config)
        pairs = [(handshake(config), importing()) for _ in range(count)]
    ours, theirs = zip(*pairs, strict=True)
    found = {
        kind: {
            "ready": round(statistics.median(t[i] for t in ours), 3),
            "import_mcp": round(statistics.median(t[i] for t in theirs), 3),
        }
        for i, kind in enumerate(("wall_seconds", "cpu_seconds"))
    }
    for times in found.values():
        times["ratio"] = round(times["ready"] / times["import_mcp"], 2)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
