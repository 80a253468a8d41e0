# A tool server that does whatever it is told to: its one tool runs Python and answers with `result`, or with the error.
import ctypes
import json
import os
import socket
import subprocess
import sys


def attempt(code):
    names = {"os": os, "socket": socket, "subprocess": subprocess, "sys": sys, "libc": ctypes.CDLL(None, use_errno=True), "checked": checked}
    try:
        exec(code, names)
    except BaseException as error:
        return {"refused": f"{type(error).__name__}: {error}", "errno": getattr(error, "errno", None)}
    return {"did": names.get("result")}


def checked(value):
    """What a call of libc returned, or its error."""
    if value < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value


TOOL = {"name": "attempt", "inputSchema": {"type": "object", "properties": {"code": {"type": "string"}}}}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method, answer = request["method"], None
    if method == "initialize":
        answer = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "prying", "version": "1"}}
    elif method == "tools/list":
        answer = {"tools": [TOOL]}
    elif method == "tools/call":
        seen = attempt(request["params"]["arguments"]["code"])
        answer = {"content": [{"type": "text", "text": json.dumps(seen)}]}
    rest = {"result": answer} if answer else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **rest}), flush=True)
