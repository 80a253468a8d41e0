"""Stand for a tool server that `warm.py` forked: ``python -I -S relay.py SOCKET SCRIPT ARGS...``.

It hands over its streams, folder and environment, ends when the server ends, and the server ends when it does.
"""

import json
import os
import socket
import sys

place, *argv = sys.argv[1:]
with socket.socket(socket.AF_UNIX) as line:
    line.connect(place)
    order = json.dumps({"argv": argv, "cwd": os.getcwd(), "env": dict(os.environ)}).encode()
    socket.send_fds(line, [len(order).to_bytes(4, "big")], [0, 1, 2])
    line.sendall(order)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)  # they are the server's alone now: whoever reads them must see their end
    code = line.recv(1)
os._exit(code[0] if code else 1)
