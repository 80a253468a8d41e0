"""A model that speaks OpenAI's Responses, whole: it calls one function of a namespace, then repeats what came back."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "namespace": "pam", "status": "completed"}


@contextmanager
def serve_responses(name: str, arguments: dict[str, Any]) -> Generator[tuple[str, list[dict[str, Any]]]]:
    """Yields the base URL, and the list of requests as they arrive."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append(body)
            results = [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
            text: dict[str, Any] = {
                "type": "output_text",
                "text": f"It says: {results[-1] if results else ''}",
                "annotations": [],
            }
            message: dict[str, Any] = {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
            item: dict[str, Any] = message if results else {**CALL, "name": name, "arguments": json.dumps(arguments)}
            answer: dict[str, Any] = {
                "id": f"resp_{len(requests)}", "object": "response", "created_at": 0, "model": body["model"], "status": "completed",
                "output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": body["tools"],
            }  # fmt: skip
            sent = json.dumps(answer).encode()
            self.send_response(200 if self.path == "/v1/responses" else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the signature of the standard library
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
