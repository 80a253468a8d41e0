"""What tests of verbs at a terminal need: a terminal, and somebody who types and reads."""

import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path


class Terminal:
    """A person at the keyboard, in front of a verb of the command line."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests in the background ignores it
            os.chdir(folder)
            environ = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", **environment}
            os.execve(sys.executable, [sys.executable, "-m", "gristmill", *arguments], environ)
        self._seen = ""

    def wait_for(self, pattern: str) -> str:
        """What has come up to and with ``pattern``."""
        ends = time.monotonic() + 60
        while not (found := re.search(pattern, self._seen)):
            assert time.monotonic() < ends, f"{pattern!r} did not come; there was {self._seen!r}"
            if select.select([self.fd], [], [], 1)[0]:
                self._seen += os.read(self.fd, 4096).decode()
        seen, self._seen = self._seen[: found.end()], self._seen[found.end() :]
        return seen

    def type(self, keys: str, then: str = ">>> ") -> str:
        os.write(self.fd, keys.encode())
        return self.wait_for(then)

    def close(self) -> None:
        """Leaves."""
        os.close(self.fd)
        os.waitpid(self.pid, 0)
