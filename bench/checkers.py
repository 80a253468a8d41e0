"""What checking a 30-line program costs: our own pass, and two type checkers kept warm as language servers.

    python -m bench.checkers --ty PATH --pyrefly PATH

Prints the median of each in milliseconds. Both checkers see the typed modules that the catalogue writes.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.module_files import write_stubs
from gristmill.catalog.python_names import make_python_names
from gristmill.guard.program.check_program import check_program
from gristmill.guard.program.known_tools import KnownServer, KnownTools
from gristmill.model import Tool

ROUNDS = 50
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["q"]}
TOOLS = [
    Tool(server=f"s{number}", name=f"{verb}_thing", description="Does it.", input_schema=SCHEMA)
    for number in range(20)
    for verb in ("find", "get", "list", "create", "delete")
]
PROGRAM = """from servers import s1, s2
import json
from collections import Counter

def fetch(names, limit):
    rows = []
    for name in names:
        found = s1.find_thing(q=name, limit=limit)
        if found and found.get("items"):
            for item in found["items"]:
                rows.append({"id": item["id"], "name": item["name"].strip(), "value": item.get("value", 0) * 2})
    return rows

rows = fetch(["a", "b"], 5)
total = sum(row["value"] for row in rows)
counts = Counter(row["name"] for row in rows)
print(json.dumps({"total": total, "counts": counts.most_common(3)}))
best = sorted(rows, key=lambda row: row["value"], reverse=True)[:10]
for row in best:
    print(f"{row['id']}: {row['name']} {row['value']:>10}")
try:
    s2.get_thing(q="x")
except Exception as error:
    print(error)
with open("out.json", "w") as file:
    json.dump(rows, file)
details = [s2.list_thing(q=row["name"]) for row in best]
done = s1.create_thing(querry="a", limit=NUMBER)
result = {"rows": len(rows), "details": details}
result
"""


class Server:
    """A language server on the other end of a pipe, asked one thing at a time."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._id = 0
        self.uri = (folder / "program.py").as_uri()
        capabilities = {"textDocument": {"diagnostic": {}, "publishDiagnostics": {"versionSupport": True}}}
        folders = [{"uri": folder.as_uri(), "name": "bench"}]
        self.ask(
            "initialize",
            {"processId": None, "rootUri": folder.as_uri(), "workspaceFolders": folders, "capabilities": capabilities},
        )
        self.tell("initialized", {})

    def tell(self, method: str, parameters: Any) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": parameters})

    def ask(self, method: str, parameters: Any) -> Any:
        self._id += 1
        self._write({"jsonrpc": "2.0", "id": self._id, "method": method, "params": parameters})
        while True:
            message = self._read()
            if message.get("id") == self._id and "method" not in message:
                return message.get("result", message.get("error"))
            if "id" in message and "method" in message:  # it asks us for its configuration
                items = message.get("params", {}).get("items", [])
                self._write({"jsonrpc": "2.0", "id": message["id"], "result": [{} for _ in items] or None})

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _write(self, message: Any) -> None:
        body = json.dumps(message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        pipe = self._process.stdout
        assert pipe is not None
        length = 0
        while line := pipe.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(pipe.read(length))


def timed(work: Callable[[int], object]) -> tuple[float, object]:
    """The median in milliseconds after a warm-up, and the last answer."""
    answer: object = [work(number) for number in range(5)][-1]
    spent: list[float] = []
    for number in range(5, 5 + ROUNDS):
        begin = time.perf_counter()
        answer = work(number)
        spent.append((time.perf_counter() - begin) * 1_000)
    return statistics.median(spent), answer


def with_server(command: list[str], folder: Path) -> tuple[float, object]:
    """One check is one change of the program and one question for its problems."""
    server = Server(command, folder)
    document = {"uri": server.uri, "languageId": "python", "version": 0, "text": PROGRAM}
    server.tell("textDocument/didOpen", {"textDocument": document})

    def check(number: int) -> object:
        text = PROGRAM.replace("NUMBER", str(number))
        version = {"uri": server.uri, "version": number + 1}
        server.tell("textDocument/didChange", {"textDocument": version, "contentChanges": [{"text": text}]})
        return server.ask("textDocument/diagnostic", {"textDocument": {"uri": server.uri}})

    try:
        return timed(check)
    finally:
        server.close()


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--ty")
    options.add_argument("--pyrefly")
    chosen = options.parse_args()
    catalog = Catalog.from_tools(TOOLS)
    servers = tuple(
        KnownServer(name=name, module=module, tools={catalog.functions[tool.key]: tool for tool in catalog.tools_of_server(name)})
        for name, module in catalog.modules.items()
    )
    known = KnownTools(
        servers=servers,
        importable=frozenset(sys.stdlib_module_names),
        argument_names=lambda names: make_python_names(names, "argument"),
    )
    median, answer = timed(lambda number: check_program(PROGRAM.replace("NUMBER", str(number)), known))
    print(f"own pass: {median:.2f} ms, {answer}")
    with tempfile.TemporaryDirectory() as name:
        folder = write_stubs(catalog, Path(name).resolve() / "stubs")
        (folder / "mcp_client.py").write_text("def call_mcp_tool(name, arguments=None, /, **more): ...\n")
        (folder / "program.py").write_text(PROGRAM)
        for label, program, verb in (("ty", chosen.ty, "server"), ("pyrefly", chosen.pyrefly, "lsp")):
            if program:
                median, answer = with_server([program, verb], folder)
                print(f"{label}: {median:.2f} ms, {json.dumps(answer)[:600]}")


if __name__ == "__main__":
    main()
