"""What a model is given in each of the three ways: definitions, and what its calls answer. All of it goes through real MCP."""

import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import tomlkit
from examples.opening import ROOT
from mcp import Client, MCPError, StdioServerParameters

from bench.models.model_tasks import RECORDED

Arm = Literal["direct", "search", "code"]
ARMS: tuple[Arm, ...] = ("direct", "search", "code")
SECONDS = 120.0
SEARCH, EXECUTE = "search_tools", "execute_code"
SERVER = Path(__file__).parents[1] / "recorded_server.py"
LONGEST_QUERY = 300
FOUND = 5
"""Tools whose definitions a search adds in the second way; the default of our own search."""

WORDS: Mapping[Arm, str] = {
    "direct": "You answer questions about data that you can get only by calling tools.",
    "search": "You answer questions about data that you can get only by calling tools. Call search_tools first: it finds them.",
    "code": "You answer questions about data that you can get only by calling tools, from Python programs run by execute_code.",
}
Protocol = Literal["tools", "text"]
"""``tools``: the API's own field for tools. ``text``: definitions and calls stand in the messages, for models without it."""
HOW_TO_CALL = (
    'To call a tool, write only a ```json block with {"name": "NAME", "arguments": {...}}. The next message has what it answers.'
)
HOW_TO_RUN = " To run a program with execute_code, write only a ```python block."
LAST = "Call a tool first; never guess. When you know the answer, say it without calling a tool."


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a tool answered."""

    text: str
    is_error: bool


class Toolbox:
    """The tools of one place, in all three ways."""

    def __init__(self, gateway: Client, servers: Mapping[str, Client], calls_file: Path, task_file: Path) -> None:
        self._gateway, self._servers, self._calls, self._task = gateway, servers, calls_file, task_file
        self._listed: dict[str, tuple[str, str, dict[str, Any]]] = {}
        self._ours: dict[str, dict[str, Any]] = {}

    async def list_tools(self) -> None:
        """Lists all tools: those of the servers, and the two of the gateway."""
        for server, client in self._servers.items():
            for tool in (await client.list_tools()).tools:
                name = tool.name if tool.name not in self._listed else f"{server}__{tool.name}"
                self._listed[name] = (server, tool.name, _define(name, tool.description, tool.input_schema))
        for tool in (await self._gateway.list_tools()).tools:
            self._ours[tool.name] = _define(tool.name, tool.description, tool.input_schema)

    def begin(self, task: str) -> None:
        """Winds recorded servers to a task, and forgets the calls of the one before."""
        self._task.write_text(task)
        self._calls.write_text("")

    def read_calls(self) -> list[dict[str, Any]]:
        """Reads the calls that recorded servers answered since ``begin``."""
        return [json.loads(line) for line in self._calls.read_text().splitlines()] if self._calls.exists() else []

    def write_system(self, arm: Arm, protocol: Protocol) -> str:
        """Writes the system prompt of a way; that of code has the gateway's own instructions, as clients show them."""
        instructions = f"\n\n{self._gateway.instructions}" if arm == "code" and self._gateway.instructions else ""
        tools = ""
        if protocol == "text":
            listed = [write_definition(each) for each in self.open(arm, {}).list_definitions()]
            tools = "\n\n".join(["", HOW_TO_CALL + (HOW_TO_RUN if arm == "code" else ""), "Tools:\n" + "\n".join(listed)])
        return f"{WORDS[arm]} {LAST}{tools}{instructions}"

    def open(self, arm: Arm, context: Mapping[str, Any]) -> "Opened":
        """Returns the tools of one conversation."""
        return Opened(self, arm, dict(context))

    async def call_server(self, name: str, arguments: Mapping[str, Any]) -> Said:
        """Calls a tool of a server directly."""
        server, tool, _ = self._listed[name]
        return await _call(self._servers[server], tool, arguments)

    async def call_gateway(self, name: str, arguments: Mapping[str, Any]) -> Said:
        """Calls one of the gateway's tools."""
        return await _call(self._gateway, name, arguments)

    async def search(self, query: str) -> list[str]:
        """Searches with the gateway's search; returns names of tools."""
        said = await self.call_gateway(SEARCH, {"query": query, "detail_level": "name_only", "limit": FOUND})
        keys = {f"{server}.{tool}": name for name, (server, tool, _) in self._listed.items()}
        return list(dict.fromkeys(keys[key] for key in re.findall(r"[\w-]+\.[\w-]+", said.text) if key in keys))

    def define(self, name: str) -> dict[str, Any]:
        """Returns the definition of a tool."""
        return self._ours[name] if name in self._ours else self._listed[name][2]

    @property
    def names(self) -> list[str]:
        """Returns the names of all tools of the servers."""
        return [*self._listed]


class Opened:
    """The tools of one conversation: what is defined now, and what a call answers."""

    def __init__(self, box: Toolbox, arm: Arm, context: dict[str, Any]) -> None:
        self._box, self.arm, self._context = box, arm, context
        first = {"direct": box.names, "search": [SEARCH], "code": [SEARCH, EXECUTE]}
        self._defined = list(first[arm])

    def list_definitions(self) -> list[dict[str, Any]]:
        """Lists the definitions that the next request carries."""
        return [self._box.define(name) for name in self._defined]

    async def search_first(self, question: str) -> str:
        """Makes the first search for the model, with the user's own words; returns what it answers."""
        if self.arm == "direct":
            return ""
        said = await self.call(SEARCH, {"query": question[:LONGEST_QUERY]})
        return f"\n\n{SEARCH} answered to this question:\n{said.text}"

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Said:
        """Answers a call of the model."""
        if name not in self._defined:
            return Said(text=f"there is no tool {name!r}; there are {', '.join(self._defined[:30])}", is_error=True)
        if self.arm == "search" and name == SEARCH:
            return await self._search(arguments)
        if self.arm == "code":
            # The application adds its context; a model does not write it.
            more = {"context": self._context} if name == EXECUTE and self._context else {}
            return await self._box.call_gateway(name, {**arguments, **more})
        return await self._box.call_server(name, arguments)

    async def _search(self, arguments: Mapping[str, Any]) -> Said:
        query = arguments.get("query")
        if not isinstance(query, str):
            return Said(text="query is needed, a text", is_error=True)
        found = await self._box.search(query)
        self._defined += [name for name in found if name not in self._defined]
        lines = [write_definition(self._box.define(name)) for name in found]
        return Said(text="\n".join(["You can call these now:", *lines]) if found else "nothing fits", is_error=not found)


def write_definition(defined: Mapping[str, Any]) -> str:
    """Writes a definition as one line of text."""
    function = defined["function"]
    schema = json.dumps(function["parameters"], ensure_ascii=False, separators=(",", ":"))
    return f"- {function['name']}: {' '.join(function['description'].split())} Arguments: {schema}"


def _define(name: str, description: str | None, schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description or "", "parameters": schema}}


async def _call(client: Client, tool: str, arguments: Mapping[str, Any]) -> Said:
    try:
        answer = await client.call_tool(tool, dict(arguments))
    except MCPError as error:
        return Said(text=str(error), is_error=True)
    text = "\n".join(part.text for part in answer.content if part.type == "text")
    return Said(text=text, is_error=bool(answer.is_error))


@asynccontextmanager
async def open_toolbox(place: str, *, source: Path, recorded: Path | None) -> AsyncGenerator[Toolbox]:
    """Starts the servers of a place, behind the gateway and bare. ``source`` is the checkout whose gateway is started."""
    folder = Path(tempfile.mkdtemp(prefix="gristmill-models-"))
    folder.chmod(0o755)  # code runs as another user when we are root
    try:
        calls, task = folder / "calls", folder / "task"
        document = _write_config(place, folder, recorded, task, calls)
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "gristmill", "serve", "-c", str(folder / "gristmill.toml")],
            env={**os.environ, "PYTHONPATH": str(source / "src")}, cwd=folder,
        )  # fmt: skip
        async with Client(command, read_timeout_seconds=SECONDS) as first:
            await _call(first, SEARCH, {"query": "warm up"})  # from now on the gateway's instructions name the tools
        async with AsyncExitStack() as stack:
            gateway = await stack.enter_async_context(Client(command, read_timeout_seconds=SECONDS))
            servers: dict[str, Client] = {}
            for name, server in cast("dict[str, dict[str, Any]]", document["servers"]).items():
                bare = StdioServerParameters(
                    command=server["command"], args=server["args"], env=server.get("env"), cwd=server.get("cwd")
                )
                servers[name] = await stack.enter_async_context(Client(bare, read_timeout_seconds=SECONDS))
            box = Toolbox(gateway, servers, calls, task)
            await box.list_tools()
            yield box
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_config(place: str, folder: Path, recorded: Path | None, task: Path, calls: Path) -> dict[str, Any]:
    if place == RECORDED:
        assert recorded is not None
        document = _describe_recorded(recorded, task, calls)
    else:
        document = tomllib.loads((ROOT / "examples" / place / "gristmill.toml").read_text())
        cache = os.environ.get("XDG_CACHE_HOME")
        here = {"command": sys.executable, "cwd": str(ROOT), "env": {"XDG_CACHE_HOME": cache} if cache else {}}
        document["servers"] = {name: {**server, **here} for name, server in document["servers"].items()}
    task.write_text("")
    calls.write_text("")
    (folder / "gristmill.toml").write_text(tomlkit.dumps({**document, "store": {"path": str(folder / "state")}}))
    return document


def _describe_recorded(recorded: Path, task: Path, calls: Path) -> dict[str, Any]:
    files = [str(recorded / f"tools_{RECORDED}.json"), str(recorded / f"replay_{RECORDED}.jsonl")]
    servers = {
        name: {"command": sys.executable, "args": ["-I", "-S", str(SERVER), *files, name, str(task), str(calls)]}
        for name in json.loads(Path(files[0]).read_text())
    }
    return {"servers": servers, "policy": {"default": "allow"}, "mask": {"mode": "off"}}
