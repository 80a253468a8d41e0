"""Recorded public environments, three ways: ``python -m bench.recorded FOLDER``. Writes ``bench/out/recorded.json``.

FOLDER (or GRISTMILL_RECORDED) holds ``tools_ENV.json``, ``replay_ENV.jsonl`` and ``programs_ENV.jsonl``. Direct: every definition
in context, one call per request. Search then call: our search with the user's own words, then a second one for tools it missed,
unless an earlier turn found them. Gristmill: the real surface and search, one program per turn in a session that the first opens,
as a client on stdio does it, and its real outcome. An output that was cut costs one more request, which prints it. A turn is
right if its output is exactly the recorded one. The answer to the user counts alike.

Some recorded programs end with a line that prints their last value as sorted JSON, so that outputs can be compared to the byte. A
model ends with the value itself. Such environments are measured in both forms; in the second a turn is right if its result is
the recorded value.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from examples.three_ways.arms import searches, surface
from examples.three_ways.conversation import Conversation, Cost, Count
from examples.three_ways.measure import saving
from examples.three_ways.servers import compact, definition

from bench import machine
from gristmill.config.tree import Config
from gristmill.model import LOCAL_IDENTITY, Outcome
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.tools.configured_servers import describe_servers
from gristmill.serve.mcp.short_handles import shorten_handle
from gristmill.serve.mcp.tools.known_servers import list_known_servers
from gristmill.serve.mcp.tools.outcome_result import render_text
from gristmill.serve.mcp.tools.server_instructions import write_instructions
from gristmill.serve.mcp.tools.tool_surface import EXECUTE, NEW_SESSION, SEARCH
from gristmill.shaping.token_counter import load_token_counter

FILE = Path(__file__).parent / "out" / "recorded.json"
SERVER = Path(__file__).with_name("recorded_server.py")
LONGEST_QUERY = 300
OUTPUT_PRICE = 5
PRINT_LAST = re.compile(r"^print\((\w+) if isinstance\(\1, str\) else json\.dumps\(\1, sort_keys=True\)\)\s*\Z", re.MULTILINE)
PRINT_REST = "print(open('output.txt').read())"
"""What a model writes to see the rest of an output that was cut."""
Turn = dict[str, Any]


class Environment:
    """One recorded environment behind an open gateway."""

    def __init__(self, runtime: Runtime, folder: Path, name: str, count: Count) -> None:
        self._runtime, self.count = runtime, count
        tools = json.loads((folder / f"tools_{name}.json").read_text())
        self.definitions = {
            f"{server}.{tool['name']}": definition(tool["name"], tool.get("description"), tool.get("inputSchema"))
            for server, listed in tools.items()
            for tool in listed
        }
        self.replay = {task["id"]: task["turns"] for task in _lines(folder / f"replay_{name}.jsonl")}
        self.programs = {task["id"]: task["turns"] for task in _lines(folder / f"programs_{name}.jsonl")}

    def direct(self, calls: Sequence[Turn], programs: Sequence[Turn]) -> Cost:
        """Every definition, every call, every result."""
        talk = Conversation(self.count, *self.definitions.values())
        for turn, program in zip(calls, programs, strict=True):
            talk.hear(turn["user"])
            self._call_each(talk, turn, program)
        return talk.cost()

    async def searched(self, calls: Sequence[Turn], programs: Sequence[Turn]) -> Cost:
        """Definitions as they are found."""
        talk, known = Conversation(self.count, surface()[0]), set[str]()
        for turn, program in zip(calls, programs, strict=True):
            talk.hear(turn["user"])
            for said, keys, _ in await self._look(turn, known):
                talk.answer(said, *(self.definitions[key] for key in keys))
            self._call_each(talk, turn, program)
        return talk.cost()

    async def ours(self, task: str, calls: Sequence[Turn], programs: Sequence[Turn]) -> tuple[Cost, int, int]:
        """Programs in a session; the number of turns whose output or result is what it must be, and of those that were cut."""
        instructions = write_instructions(describe_servers(self._runtime.config, await list_known_servers(self._runtime)))
        talk = Conversation(self.count, *surface(), instructions)
        known, shown, right, cut = set[str](), set[str](), 0, 0
        session = NEW_SESSION
        for turn, program in zip(calls, programs, strict=True):
            talk.hear(turn["user"])
            for said, _, texts in await self._look(turn, known, shown):
                talk.answer(said, *texts)
            outcome = await self._runtime.execute(program["code"], session=task)
            right += is_right(outcome, program)
            opened = await self._runtime.session_stores.sessions.find_by_name(task, identity=LOCAL_IDENTITY)
            expires, handle = opened.expires if session == NEW_SESSION else None, shorten_handle(opened.handle)
            text = render_text(replace(outcome, session=handle), expires=expires)
            talk.answer(_write_call(program["code"], session), text)
            session = handle
            if outcome.truncated or outcome.left_out:
                cut += 1
                talk.answer(_write_call(PRINT_REST, session), program["expect"])
            talk.answer(program["expect"])
        await self._runtime.delete_session(task)
        return talk.cost(), right, cut

    def _call_each(self, talk: Conversation, turn: Turn, program: Turn) -> None:
        for call in turn["calls"]:
            talk.answer(compact({"name": call["name"], "input": call["args"]}), call["result"])
        talk.answer(program["expect"])

    async def _look(self, turn: Turn, known: set[str], shown: set[str] | None = None) -> list[tuple[str, list[str], list[str]]]:
        """The searches of a turn: none when all its tools are known already."""
        needed = dict.fromkeys(f"{call['server']}.{call['name']}" for call in turn["calls"])
        if needed.keys() <= known:
            return []
        rounds: list[tuple[str, list[str], list[str]]] = []
        unknown = {key: None for key in needed if key not in known}
        for queries, keys, texts in await searches(self._runtime, [turn["user"][:LONGEST_QUERY]], unknown, shown):
            said = compact([{"name": SEARCH, "input": {"query": query}} for query in queries])
            rounds.append((said, [key for key in keys if key not in known], texts))
            known |= set(keys)
        return rounds


def _write_call(code: str, session: str) -> str:
    return compact({"name": EXECUTE, "input": {"code": code, "session": session}})


def is_right(outcome: Outcome, program: Turn) -> bool:
    """Tells whether a turn ended as recorded: by its output, or by its result where the program returns its last value."""
    if not program.get("returns"):
        return outcome.output == program["expect"]
    try:
        expected = json.loads(program["expect"])
    except ValueError:
        expected = program["expect"].removesuffix("\n")
    return outcome.success and outcome.result in (expected, program["expect"].removesuffix("\n"))


def return_last_value(program: Turn) -> Turn:
    """Returns the program with its last value as its last line, in place of the line that prints it as sorted JSON."""
    found = PRINT_LAST.search(program["code"])
    if found is None:
        return program
    code = program["code"][: found.start()].replace("import json\n", "", 1) + found[1]
    return {**program, "code": code, "returns": True}


async def measure(folder: Path, name: str, *, returning: bool) -> dict[str, Any] | None:
    """One environment, all its tasks; None if values should be returned and none of its programs prints its last one."""
    count = load_token_counter()
    assert count is not None
    with tempfile.TemporaryDirectory(prefix="gristmill-recorded-") as state:
        Path(state).chmod(0o755)  # code runs as another user when we are root
        task_file = Path(state) / "task"
        task_file.write_text("")
        async with Runtime.open(_config(folder, name, Path(state), task_file)) as runtime:
            await runtime.settled(60)
            environment = Environment(runtime, folder, name, count)
            rows: list[dict[str, Any]] = []
            tasks = environment.programs
            if returning:
                tasks = {task: [return_last_value(turn) for turn in turns] for task, turns in tasks.items()}
                if not any("returns" in turn for turns in tasks.values() for turn in turns):
                    return None
            for task, programs in tasks.items():
                task_file.write_text(task)
                calls = environment.replay[task]
                ours, right, cut = await environment.ours(task, calls, programs)
                row = {
                    "direct": environment.direct(calls, programs),
                    "searched": await environment.searched(calls, programs),
                    "ours": ours,
                }
                rows.append({"id": task, "turns": len(programs), "right": right, "cut": cut, **row})
                print(f"\r{name} {len(rows)}/{len(environment.programs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return _summary(rows)


def _config(folder: Path, name: str, state: Path, task_file: Path) -> Config:
    files = [str(folder / f"tools_{name}.json"), str(folder / f"replay_{name}.jsonl")]
    servers = {
        server: {"command": sys.executable, "args": ["-I", "-S", str(SERVER), *files, server, str(task_file)], "era": "legacy"}
        for server in json.loads(Path(files[0]).read_text())
    }
    settings = {"servers": servers, "store": {"path": state}, "policy": {"default": "allow"}, "mask": {"mode": "off"}}
    return Config.model_validate({**settings, "sandbox": {"sessions_kept": 4}})


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    def mean(way: str, field: str) -> float:
        return statistics.fmean(getattr(row[way], field) for row in rows)

    ways = ("direct", "searched", "ours")
    return {
        "tasks": len(rows),
        "turns": sum(row["turns"] for row in rows),
        "turns_right": sum(row["right"] for row in rows),
        "turns_cut": sum(row["cut"] for row in rows),
        "dearer": sum(_price(row["ours"]) > _price(row["searched"]) for row in rows),
        "mean": {way: {field: round(mean(way, field)) for field in ("input", "cached", "output")} for way in ways},
        "saving": {
            f"{field}_vs_{way}": saving(mean("ours", field), mean(way, field))
            for way in ways[:2]
            for field in ("input", "cached")
        },
        "rows": [{**row, **{way: asdict(row[way]) for way in ways}} for row in rows],
    }


def _price(cost: Cost) -> float:
    """What a task costs with a prompt cache: cached input, and output at five times the price of input."""
    return cost.cached + OUTPUT_PRICE * cost.output


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def main() -> None:
    """Measure all environments of the folder, print, write."""
    parser = argparse.ArgumentParser(description="Recorded environments, three ways.")
    parser.add_argument("folder", type=Path, nargs="?", default=os.environ.get("GRISTMILL_RECORDED"))
    chosen = parser.parse_args()
    if chosen.folder is None:
        parser.error("which folder? give it, or set GRISTMILL_RECORDED")
    folder = Path(chosen.folder)
    names = sorted(file.stem.removeprefix("tools_") for file in folder.glob("tools_*.json"))
    found: dict[str, Any] = {}
    for name in names:
        for label, returning in ((name, False), (f"{name}, values returned", True)):
            measured = anyio.run(partial(measure, folder, name, returning=returning))
            if measured is not None:
                found[label] = measured
    document = {
        "command": "python -m bench.recorded FOLDER",
        "method": __doc__,
        "commit": machine.commit(),
        "environments": found,
    }
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(document, indent=1) + "\n")
    for name, each in found.items():
        print(name, {key: value for key, value in each.items() if key != "rows"})


if __name__ == "__main__":
    main()
