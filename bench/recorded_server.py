"""One server of a recorded environment: ``recorded_server.py TOOLS REPLAY SERVER TASK_FILE [CALLS_FILE]``. Standard library only.

A call is answered by its name and arguments: the n-th such call of a task gets the n-th recorded result, the last one repeats; a
call that was never recorded is a tool error. TASK_FILE holds the id of the task; when it changes, the tape starts anew.
Calls that were answered are appended to CALLS_FILE, one JSON object per line.
"""

import json
import sys
from pathlib import Path
from typing import Any, cast

REVISION = "2025-11-25"


class Tape:
    """What was recorded for one server, wound to the task that the file names."""

    def __init__(self, replay: str, server: str, task_file: Path) -> None:
        with open(replay, encoding="utf-8") as lines:
            self._tasks = {task["id"]: task for task in map(json.loads, lines)}
        self._server, self._task_file, self._task = server, task_file, ""
        self._results: dict[str, list[str]] = {}

    def play(self, name: str, arguments: dict[str, Any]) -> str | None:
        """The next recorded result of this call."""
        self._wind()
        results = self._results.get(_key(name, arguments))
        if not results:
            return None
        return results.pop(0) if len(results) > 1 else results[0]

    def _wind(self) -> None:
        task = self._task_file.read_text()
        if task == self._task:
            return
        self._task, self._results = task, {}
        for turn in self._tasks[task]["turns"]:
            for call in turn["calls"]:
                if call["server"] == self._server:
                    self._results.setdefault(_key(call["name"], call["args"]), []).append(call["result"])


def _key(name: str, arguments: dict[str, Any]) -> str:
    return name + "\0" + json.dumps(_even(arguments), sort_keys=True, ensure_ascii=False)


def _even(value: Any) -> Any:
    """The value with whole floats as integers: 36 and 36.0 are the same number to every server."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_even(each) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _even(each) for name, each in cast("dict[str, Any]", value).items()}
    return value


def main(tools: str, replay: str, server: str, task_file: str, calls_file: str = "") -> None:
    """Answer until standard input ends."""
    tape = Tape(replay, server, Path(task_file))
    start: dict[str, Any] = {
        "protocolVersion": REVISION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": server, "version": "recorded"},
    }
    answers: dict[str, Any] = {
        "initialize": start,
        "tools/list": {"tools": json.loads(Path(tools).read_text())[server]},
        "ping": {},
    }
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        if message["method"] == "tools/call":
            arguments: dict[str, Any] = message["params"].get("arguments") or {}
            name = str(message["params"]["name"])
            text = tape.play(name, arguments)
            if calls_file and text is not None:
                with open(calls_file, "a", encoding="utf-8") as calls:
                    calls.write(json.dumps({"server": server, "name": name, "args": arguments}) + "\n")
            content = [{"type": "text", "text": text if text is not None else "Error: this call was never recorded"}]
            part: dict[str, Any] = {"result": {"content": content, "isError": text is None}}
        elif message["method"] in answers:
            part = {"result": answers[message["method"]]}
        else:
            part = {"error": {"code": -32601, "message": "not recorded"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **part}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
