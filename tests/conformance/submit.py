"""Stands in for a client: hands its address and environment to ``forked.py`` and ends as that ends. Stdlib only, so it is quick."""

import json
import os
import socket
import sys

_, path, url = sys.argv
environ = {name: value for name, value in os.environ.items() if name.startswith("MCP_CONFORMANCE")}
connection = socket.socket(socket.AF_UNIX)
connection.connect(path)
connection.sendall(json.dumps({"url": url, "environ": environ}).encode() + b"\n")
text, _, code = connection.makefile("r").read().rpartition("\n")
sys.stderr.write(text)
sys.exit(int(code or "1"))
