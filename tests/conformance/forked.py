"""Many short-lived clients from one that is already imported: the suite starts dozens at once, each would import for seconds.

``python -m tests.conformance.forked SOCKET`` waits; ``python submit.py SOCKET URL`` has it run one client and takes its place.
"""

import json
import os
import socket
import sys
import traceback

import anyio

from tests.conformance import client


def main() -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(128)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            os._exit(_serve(connection))
        connection.close()
        _reap()


def _serve(connection: socket.socket) -> int:
    """Run one client in this fork, and report its exit code in its grandparent's place."""
    wanted = json.loads(connection.makefile("r").readline())
    os.environ.update(wanted["environ"])
    sys.argv = ["client", wanted["url"]]
    code = 0
    try:
        anyio.run(client.main)
    except BaseException:
        code = 1
        connection.sendall(traceback.format_exc().encode())
    connection.sendall(f"\n{code}".encode())
    connection.close()
    return code


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main()
