"""Tool servers and command lines forked from one process that has imported what they need: a second of each start otherwise.

What a test sees is the same: a process of its own on its own pipes, started by a command and gone when it is killed.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Generator
from pathlib import Path

from gristmill.config.sections.servers_section import ServerConfig

HERE = Path(__file__).parent
SDK = ("mcp.server.mcpserver", "starlette.applications", "uvicorn")
ROOMS = tuple(f"gristmill.{name}" for name in ("sandbox", "session", "shaping", "store", "upstream", "runtime", "serve.cli"))


def warm(script: str, *arguments: str) -> tuple[str, ...]:
    """The command of the server in ``script`` of this folder."""
    return _relayed(str(HERE / script), *arguments)


def warm_module(*words: str) -> tuple[str, ...]:
    """The command for ``python -m`` and these words."""
    return _relayed("-m", *words)


def _relayed(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(HERE / "relay.py"), _place(), *words)


def server_of(script: str, *arguments: str) -> ServerConfig:
    """The same as a part of a configuration."""
    command, *rest = warm(script, *arguments)
    return ServerConfig(command=command, args=tuple(rest))


@functools.cache
def _place() -> str:
    """Start the process to fork from; it ends with this one, whose end of a pipe it holds on to."""
    folder = tempfile.mkdtemp(prefix="gristmill-warm-")
    Path(folder).chmod(0o755)
    place = f"{folder}/socket"
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.servers.warm", place, str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(
            command, cwd=HERE.parents[1], pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
    atexit.register(_end, ours, process)
    assert ours.recv(1), "the process to fork servers from did not start"
    return place


def _end(ours: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    """In good order; a process that is killed closes its end of the line all the same."""
    ours.close()
    process.wait(10)


def main(place: str, owner: socket.socket) -> None:
    """Fork whatever is asked for, as long as the owner lives."""
    for name in SDK:
        importlib.import_module(name)
    for room in map(importlib.import_module, ROOMS):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    assert threading.active_count() == 1, "a fork has only one of our threads"
    gc.freeze()  # what is shared stays shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for servers: their line tells how they ended
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen(64)
        owner.send(b"1")
        while owner not in select.select([owner, door], [], [])[0]:
            line, _ = door.accept()
            if os.fork() == 0:
                door.close()
                owner.close()
                _become(line)
            line.close()
    with contextlib.suppress(OSError):
        os.unlink(place)
        os.rmdir(os.path.dirname(place))


def _become(line: socket.socket) -> None:
    """Be the server that was asked for, on the streams that came along, until the other end of the line is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(line, 4, 3)
    text = b""
    while len(text) < int.from_bytes(size, "big"):
        text += line.recv(65_536)
    order = json.loads(text)
    for stream, target in zip(streams, (0, 1, 2), strict=True):
        os.dup2(stream, target)
        os.close(stream)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    threading.Thread(target=_end_with, args=(line,), daemon=True).start()
    with _told(line):
        _run(order["argv"])


def _run(words: list[str]) -> None:
    """Run a script or, after ``-m``, a module, as the interpreter would."""
    sys.argv = words
    sys.path[1:1] = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place and place not in sys.path]
    if words[0] != "-m":
        sys.path[0] = os.path.dirname(words[0])
        runpy.run_path(words[0], run_name="__main__")
        return
    del words[0]
    sys.path[0] = os.getcwd()
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


def _end_with(line: socket.socket) -> None:
    line.recv(1)
    os._exit(1)


@contextlib.contextmanager
def _told(line: socket.socket) -> Generator[None]:
    """Tell the other end how it ended, as the interpreter would."""
    code = 1
    try:
        yield
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
        sys.stdout.flush()
        sys.stderr.flush()
        line.send(bytes([code & 255]))
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
