"""``python -m bench.run``: measure Gristmill, its peers and the floors; print one table, write ``bench/out/sandbox.json``."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from bench import install, machine, results
from bench.figures import FIGURES, PEERS, Peer
from bench.peers.corpus import quantiles
from bench.results import OURS
from bench.table import print_table

NOT_THEIRS = {figure.name for figure in FIGURES if figure.against}
OURS_ONLY = {"cold", "cold_pandas"}
"""Timed from outside, a new process each."""
IN_MEMORY = {"child_mb", "runtime_mb"}
"""Measured in a process of their own: what earlier figures left behind there (thousands of tools, a thousand callers) is not
what a runtime takes."""
PEER_SECONDS = 1_800
Progress = Callable[[str], None]


class Bench:
    """One run of everything that was asked for."""

    def __init__(self, document: dict[str, Any], figures: list[str], progress: Progress, *, quick: bool) -> None:
        self._document, self._figures, self._progress, self._quick = document, figures, progress, quick

    def ours(self) -> None:
        """Gristmill's column."""
        install.pandas(self._progress)
        self._document["peers"][OURS] = {"title": "gristmill", "notes": "full CPython in a kernel sandbox"}
        inside = [name for name in self._figures if name not in OURS_ONLY]
        for names in ([name for name in inside if (name in IN_MEMORY) is alone] for alone in (False, True)):
            if names:
                self._listen(OURS, [sys.executable, "-m", "bench.ours", "--figures", ",".join(names), *self._flags()], os.environ)
        if "cold" in self._figures:
            self._cold(OURS, "cold", [sys.executable, "-m", "bench.cold"], _plain())
        if "cold_pandas" in self._figures:
            self._cold(OURS, "cold_pandas", [sys.executable, "-m", "bench.cold", str(install.PACKAGES)], _plain())

    def peer(self, peer: Peer) -> None:
        """A peer's column, or why there is none."""
        entry = self._document["peers"][peer.name] = {"title": peer.title, "package": peer.package}
        environment = _plain()
        try:
            command = [install.interpreter(peer, self._progress), str(install.ROOT / "bench" / "peers" / f"{peer.script}.py")]
            if peer.name == "bwrap":
                environment["BENCH_BWRAP"] = install.bubblewrap(self._progress)
        except install.NotInstalled as error:
            entry["error"] = str(error)
            return
        self._listen(peer.name, [*command, "--figures", ",".join(self._theirs()), *self._flags()], environment)
        if "cold" in self._figures:
            self._cold(peer.name, "cold", [*command, "--cold"], environment)

    def _theirs(self) -> list[str]:
        """The figures that peers are measured by."""
        return [name for name in self._figures if name not in NOT_THEIRS]

    def _flags(self) -> list[str]:
        return ["--quick"] if self._quick else []

    def _listen(self, who: str, command: list[str], environment: Any) -> None:
        for message in _messages(command, environment):
            if "progress" in message:
                self._progress(f"{who}: {message['progress']}")
            elif "figure" in message:
                figure = message.pop("figure")
                if figure in self._document["figures"]:
                    self._document["figures"][figure]["values"][who] = message
                else:
                    self._document["peers"][who]["error"] = message.get("error")
            elif "notes" in message:
                self._document["peers"][who] |= {"notes": message["notes"] or self._document["peers"][who].get("notes", "")}
            elif "died" in message:
                self._document["peers"][who]["error"] = message["died"]

    def _cold(self, who: str, figure: str, command: list[str], environment: Mapping[str, str]) -> None:
        self._progress(f"{who}: {figure}")
        times: list[float] = []
        for index in range(1 + (3 if self._quick else 15)):
            started = time.perf_counter()
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
            ) as process:
                assert process.stdout is not None
                line = process.stdout.readline()
                taken = time.perf_counter() - started
            if "first" not in line:
                self._document["figures"][figure]["values"][who] = {"error": f"no result: {line.strip()[:200]}"}
                return
            if index:  # the first one warms the file cache
                times.append(taken)
        self._document["figures"][figure]["values"][who] = {"unit": "ms", **quantiles(times, 1e3)}


def _plain() -> dict[str, str]:
    """Nothing of the caller's, such as PYTHONDONTWRITEBYTECODE, may slow one and not the other."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/")}


def _messages(command: list[str], environment: Any) -> Iterator[dict[str, Any]]:
    """What a measuring process says, line by line; its sudden end is a message too."""
    ended = False
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True, cwd=install.ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if line.startswith("{"):
                message = json.loads(line)
                ended = ended or bool(message.get("end"))
                yield message
        complaint = process.stderr.read().strip()
    if not ended:
        yield {"died": f"it ended early (exit {process.returncode}): {complaint[-300:]}"}


def main() -> None:
    """Parse, measure, write, show."""
    names = [figure.name for figure in FIGURES]
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it works, not to quote")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help=f"a figure ({', '.join(names)}) or a peer; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print the document instead of the table")
    options = parser.parse_args()
    only = set(options.only or [])
    if unknown := only - set(names) - {peer.name for peer in PEERS} - {OURS}:
        parser.error(f"no figure or peer is called {', '.join(sorted(unknown))}")
    figures = [name for name in names if name in only] or names
    candidates = only - set(names)

    def progress(text: str) -> None:
        print(f"  {text}", file=sys.stderr, flush=True)

    date = datetime.now(UTC).isoformat(timespec="seconds")
    document = results.empty(machine.describe(), machine.commit(), date, quick=options.quick)
    bench = Bench(document, figures, progress, quick=options.quick)
    if not candidates or OURS in candidates:
        bench.ours()
    for peer in PEERS:
        if not candidates or peer.name in candidates:
            bench.peer(peer)
    # A partial run must not pass for the whole: it goes to a file of its own.
    target = results.FILE if not only else results.FILE.with_name("partial.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(document, indent=1))
    else:
        print_table(results.Results(document))
        progress(f"written to {target.relative_to(install.ROOT)}")


if __name__ == "__main__":
    main()
