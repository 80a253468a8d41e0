"""The keeper's process, started with nothing but a socket: it loads while whoever started it still writes its order.

Light, since it is the first thing that a runtime loads; `template.py` speaks with what the keeper becomes.
"""

import os
import socket
import subprocess
from types import TracebackType

from gristmill.sandbox import jail_layout as layout

LAUNCHER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "linux", "template", "keep_template.py")


class Keeper:
    """A process that waits for its order; as a context it ends unless somebody has taken it over."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.setblocking(False)
        command = [layout.executable(), "-I", "-S", "-B", LAUNCHER, str(theirs.fileno()), str(os.getpid())]
        with theirs:
            # An empty environment: what the launcher was given could be read in /proc for as long as it lives.
            self.process = subprocess.Popen(
                command, env={}, cwd="/", pass_fds=[theirs.fileno()], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        self._taken = False

    def take(self) -> "tuple[socket.socket, subprocess.Popen[bytes]]":
        """Its socket and its process; whoever takes them sees to their end."""
        self._taken = True
        return self.control, self.process

    def __enter__(self) -> "Keeper":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._taken:
            self.control.close()
            self.process.kill()
            self.process.wait()
