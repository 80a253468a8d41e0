"""A tool server that misbehaves on request. Standard library only; speaks the revision of 2025-11-25 by hand.

The words on the command line choose how it behaves when it starts; its tools choose the rest.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

WORDS = sys.argv[1:]
OBJECT = {"type": "object"}
cancelled: list[Any] = []
listed: list[int] = []
extra_tools: list[dict[str, Any]] = []
pending: dict[Any, Any] = {}


def say(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def answer(request: dict[str, Any], result: Any) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "result": result})


def text(request: dict[str, Any], value: Any) -> None:
    answer(request, {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]})


def notify(method: str, **params: Any) -> None:
    say({"jsonrpc": "2.0", "method": method, "params": params})


TOOLS = ("echo", "die", "hang", "huge", "env", "cancelled", "grow", "storm", "progress", "sample", "roots", "elicit",
         "blobs", "fail", "bad_output", "grandchild", "whisper", "rubbish", "wrong_ids", "not_mcp", "stop_reading",
         "endless", "pid", "listings", "json", "several", "rpc_error", "bad_base64", "blocks", "rows", "deep_content", "deep_text",
         "large_notice", "deep_question")  # fmt: skip


def tools() -> list[Any]:
    found: list[Any] = [{"name": name, "inputSchema": OBJECT} for name in TOOLS]
    found[TOOLS.index("bad_output")]["outputSchema"] = {
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
    }  # fmt: skip
    if "malformed" in WORDS:
        found += [
            {"name": "no_schema"},
            {"name": "empty_schema", "inputSchema": {}},
            {"name": "list_schema", "inputSchema": {"type": "array"}},
            {"name": "bad_output_schema", "inputSchema": OBJECT, "outputSchema": "text"},
            {"name": "bad_hints", "inputSchema": OBJECT, "annotations": {"readOnlyHint": "perhaps"}},
            {"name": 7, "inputSchema": OBJECT},
            {"name": "", "inputSchema": OBJECT},
            {"inputSchema": OBJECT},
            "no tool at all",
            None,
        ]
    if "deep_schema" in WORDS:
        schema: dict[str, Any] = {}
        for _ in range(300):
            schema = {"items": schema}
        found.append({"name": "deep_schema", "inputSchema": {"type": "object", "properties": {"x": schema}}})
    if "bombs" in WORDS:
        deep: dict[str, Any] = {}
        for _ in range(90):
            deep = {"properties": {"x": deep}}
        found += [
            {"name": "deep", "inputSchema": {"type": "object", **deep}},
            {"name": "wide", "inputSchema": {"type": "object", "description": "x" * 600_000}},
            {"name": "echo", "description": "a second tool of this name", "inputSchema": OBJECT},
        ]
    return found + extra_tools


def list_page(request: dict[str, Any]) -> None:
    listed.append(1)
    params: dict[str, Any] = request.get("params") or {}
    cursor = params.get("cursor")
    if "pages" in WORDS:  # two tools a page, for ever
        page = int(cursor or 0)
        found = [{"name": f"tool_{page}_{n}", "inputSchema": OBJECT} for n in range(2)]
        answer(request, {"tools": found, "nextCursor": str(page + 1)})
    elif "deepest" in WORDS:
        raw(request, b'{"tools":[{"name":"a","inputSchema":{"type":"object","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}]}")
    elif "many_values" in WORDS:
        raw(request, b'{"tools":[{"name":"a","inputSchema":{"type":"object","enum":[' + b"{}," * 300_000 + b"{}]}}]}")
    elif "circles" in WORDS:
        answer(request, {"tools": tools(), "nextCursor": "again"})
    else:
        answer(request, {"tools": tools()})
    if "restless" in WORDS:  # every listing is followed by the news that it is out of date
        notify("notifications/tools/list_changed")


def call(request: dict[str, Any]) -> None:
    name = request["params"]["name"]
    arguments: dict[str, Any] = request["params"].get("arguments") or {}
    handler = globals().get(f"tool_{name}")
    if handler is None:
        text(request, f"called {name}")
    else:
        handler(request, arguments)


def tool_echo(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    text(request, arguments)


def tool_die(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    os._exit(3)


def tool_hang(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    """No answer, ever; other calls still work."""


def tool_cancelled(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    text(request, [len(cancelled)])


def tool_listings(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    text(request, [len(listed)])


def tool_pid(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    text(request, [os.getpid()])


def tool_env(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    text(request, dict(os.environ))


def tool_json(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    text(request, '[{"id": "007", "n": 1.5}]')


def tool_several(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    answer(request, {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": '{"two": 2}'}]})


def tool_rpc_error(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "no such thing"}})


def tool_huge(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    """A line of many megabytes, with its id in front or at the end."""
    filling = b"x" * 1_000_000
    front = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request["id"]
    back = b'"}]}}\n'
    if arguments.get("id_last"):
        front = b'{"result":{"content":[{"type":"text","text":"'
        back = b'"}]},"jsonrpc":"2.0","id":%d}\n' % request["id"]
    if arguments.get("no_id"):
        front = b'{"id":%d,"result":{"content":[{"type":"text","text":"' % request["id"]
    with os.fdopen(os.dup(1), "wb") as out:
        out.write(front)
        for _ in range(arguments.get("mb", 100)):
            out.write(filling)
        out.write(back)


def raw(request: dict[str, Any], result: bytes, *, no_id_in_front: bool = False) -> None:
    """An answer that is not built as values first: that would take as long here as it would there."""
    front = b'{"jsonrpc":"2.0","id":%d,"result":' % request["id"]
    back = b"}\n"
    if no_id_in_front:
        front, back = b'{"jsonrpc":"2.0","result":', b',"id":%d,"_pad":"%s"}\n' % (request["id"], b"x" * 1_000)
    with os.fdopen(os.dup(1), "wb") as out:
        out.write(front + result + back)


def tool_blocks(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Many content blocks, each of them empty."""
    block = b'{"type": "text", "text": ""}'
    raw(request, b'{"content": [' + b", ".join([block] * arguments["count"]) + b"]}")


def tool_rows(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    row = b'{"id":1,"name":"some name","open":true}'
    rows = b",".join([row] * arguments["count"])
    raw(request, b'{"content":[],"structuredContent":{"rows":[' + rows + b"]}}")


def tool_deep_content(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    levels = arguments["levels"]
    content = b'{"content":[],"structuredContent":{"x":' + b"[" * levels + b"]" * levels + b"}}"
    raw(request, content, no_id_in_front=arguments.get("hidden_id", False))


def tool_deep_text(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    text(request, "[" * 100_000 + "]" * 100_000)


def tool_large_notice(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    notify("notifications/message", level="info", data=[{}] * arguments["count"])
    text(request, "after the notice")


def tool_deep_question(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    os.write(1, b'{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":' + deep + b"}}\n")
    text(request, "after the question")


def tool_endless(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    while True:
        os.write(1, b"y" * 100_000)


def tool_rubbish(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    os.write(1, b"Listening on port 3000 ...\n{not json\n\xff\xfe\x00\n[]\n42\n\n" * 20)
    text(request, "still here")


def tool_not_mcp(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    answer(request, {"content": "no list", "structuredContent": 7})


def tool_wrong_ids(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    for wrong in (99_999, "x", -1):
        say({"jsonrpc": "2.0", "id": wrong, "result": {"content": []}})
    text(request, "right")


def tool_grow(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    extra_tools.append({"name": f"grown_{len(extra_tools)}", "inputSchema": OBJECT})
    notify("notifications/tools/list_changed")
    text(request, "grown")


def tool_storm(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    extra_tools.append({"name": "after_the_storm", "inputSchema": OBJECT})
    for _ in range(5_000):
        notify("notifications/tools/list_changed")
    text(request, "over")


def tool_progress(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    token = request["params"].get("_meta", {}).get("progressToken")
    for step in range(arguments.get("steps", 3)):
        notify("notifications/progress", progressToken=token, progress=step + 1, total=3, message="working")
    text(request, "done")


def ask(request: dict[str, Any], method: str, params: dict[str, Any]) -> None:
    identity = f"ask-{len(pending)}"
    pending[identity] = request
    say({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})


def tool_sample(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    message = {"role": "user", "content": {"type": "text", "text": "hi"}}
    ask(request, "sampling/createMessage", {"messages": [message], "maxTokens": 5})


def tool_roots(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    ask(request, "roots/list", {})


def tool_elicit(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    ask(request, "elicitation/create", {"message": "who are you?", "requestedSchema": schema})


def tool_blobs(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    data = base64.b64encode(b"\x89PNG").decode()
    content: list[dict[str, Any]] = [
        {"type": "text", "text": "see"},
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"type": "audio", "data": data, "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a.bin", "mimeType": "application/zip", "blob": data}},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "words"}},
        {"type": "resource_link", "uri": "file:///b", "name": "b", "mimeType": "text/csv"},
    ]
    answer(request, {"content": content, **({"structuredContent": {"n": 1}} if arguments.get("structured") else {})})


def tool_bad_base64(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    answer(request, {"content": [{"type": "image", "data": "***", "mimeType": "image/png"}]})


def tool_fail(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    said = f"it broke with {os.environ.get('API_TOKEN', 'nothing')}"
    answer(request, {"content": [{"type": "text", "text": said}], "isError": True})


def tool_bad_output(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    answer(request, {"content": [], "structuredContent": {"n": arguments.get("n", "many")}})


def tool_grandchild(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    child = subprocess.Popen(["sleep", "600"])  # keeps our pipes
    text(request, [os.getpid(), child.pid])


def tool_whisper(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    sys.stderr.write(f"fatal: cannot use {os.environ.get('API_TOKEN')}\n")
    sys.stderr.flush()
    os._exit(1)


def tool_stop_reading(request: dict[str, Any], arguments: dict[str, Any]) -> None:
    text(request, "deaf now")
    threading.Event().wait()


def initialize(request: dict[str, Any]) -> None:
    if "old_only" not in WORDS and "fails_often" in WORDS:
        os._exit(4)
    answer(
        request,
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "hostile", "version": "1"},
        },
    )


def refuse(request: dict[str, Any]) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "Method not found"}})


def discover(request: dict[str, Any]) -> None:
    if "dies_on_probe" in WORDS:
        os._exit(5)
    if "silent_on_probe" not in WORDS:
        refuse(request)


def reply(message: dict[str, Any]) -> None:
    """Our own question was answered: tell the caller of the tool what we heard."""
    request = pending.pop(message["id"])
    heard = message.get("result", {"refused": message.get("error", {}).get("message")})
    text(request, {"heard": heard})


def pong(request: dict[str, Any]) -> None:
    answer(request, {})


HANDLERS = {
    "initialize": initialize,
    "server/discover": discover,
    "tools/list": list_page,
    "tools/call": call,
    "ping": pong,
}


def handle(message: dict[str, Any]) -> None:
    method = message.get("method")
    if method is None:
        reply(message)
    elif method == "notifications/cancelled":
        cancelled.append(message["params"].get("requestId"))
    elif method == "tools/list" and "no_list" in WORDS:
        pass
    elif "id" in message:
        HANDLERS.get(method, refuse)(message)


def main() -> None:
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "log" in " ".join(WORDS):
        path = next(word for word in WORDS if word.startswith("log="))[4:]
        with open(path, "a", encoding="utf-8") as file:
            file.write("started\n")
    if "dies_at_once" in WORDS:
        sys.exit("cannot open the database")
    if "banner" in WORDS:
        os.write(1, b"*** welcome to the server ***\n\x1b[32mok\x1b[0m\n")
    if "flood" in WORDS:
        while True:
            os.write(1, b"rubbish " * 1_000 + b"\n")
    if "never" in WORDS:
        threading.Event().wait()
    for line in sys.stdin:
        handle(json.loads(line))
    while "stubborn" in WORDS:
        time.sleep(60)


main()
