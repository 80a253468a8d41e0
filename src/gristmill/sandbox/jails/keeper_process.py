"""The keeper's process, started with only a socket: it loads its modules while the caller still prepares the order.

Imports little, since it is the first thing that a runtime loads; `template_process.py` talks to the template that the keeper
starts.
"""

import os
import socket
import subprocess
from types import TracebackType

from gristmill.sandbox import jail_layout as layout

LAUNCHER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "linux", "template", "keep_template.py")


class Keeper:
    """A process that waits for its order; as a context manager it is ended on exit unless ``take`` was called."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.setblocking(False)
        command = [layout.find_interpreter(), "-I", "-S", "-B", LAUNCHER, str(theirs.fileno()), str(os.getpid())]
        with theirs:
            # An empty environment: the launcher's environment can be read in /proc for as long as it lives.
            self.process = subprocess.Popen(
                command, env={}, cwd="/", pass_fds=[theirs.fileno()], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        self._taken = False

    def take_over(self) -> "tuple[socket.socket, subprocess.Popen[bytes]]":
        """Returns its socket and its process; from then on the caller is responsible for ending them."""
        self._taken = True
        return self.control, self.process

    def __enter__(self) -> "Keeper":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._taken:
            self.control.close()
            self.process.kill()
            self.process.wait()
