"""The template: a single-threaded interpreter with the common modules loaded, which forks a sealed child per request.

It runs inside the template jail and never runs agent code. It speaks with the host over one socket: orders and descriptors
come in, pidfds and exit statuses go out. When the host or the keeper is gone, so is it, and with it every child.
"""

import base64
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from typing import Any

# Modules hook into every fork (locks of threading and logging, the seed of random). In the template no thread runs and no
# lock is held, so the hooks would only cost each child half a millisecond; it gets them for its own forks instead.
_hooks: list[dict[str, Any]] = []
_register_at_fork = os.register_at_fork
os.register_at_fork = lambda **hook: _hooks.append(hook)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]

# The C functions: the module's own wrap them in enums, which every child would pay for with page faults.
_signal: Any = importlib.import_module("_signal")

_MILL = os.path.dirname(os.path.abspath(__file__)).removesuffix("/gristmill/sandbox/linux")
sys.path.insert(0, _MILL)

from gristmill.sandbox.linux import kernel, landlock, namespaces, seccomp, steps  # noqa: E402 - made importable above

CONTROL = 3
ORDER_BYTES = 1 << 18
TRAINING_ROUNDS = 30


def main() -> None:
    """Prepare, say so, then serve until the host hangs up."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=CONTROL)
    order = json.loads(control.recv(ORDER_BYTES))
    try:
        template = Template(control, order)
    except Exception as error:  # whatever it was, the host has to hear of it and nothing may run
        control.send(json.dumps({"failed": f"the template could not be prepared: {error}"}).encode())
        os._exit(70)
    template.serve()


class Template:
    """What children are made from."""

    def __init__(self, control: socket.socket, order: dict[str, Any]) -> None:
        self.control = control
        self.pid = os.getpid()
        self.namespaced = order["level"] == "namespaces"
        self.children: dict[int, int] = {}  # pid -> request id
        self.runner = _load_guest(order)
        missing = _preload(order["preload"])
        if (threads := len(os.listdir("/proc/self/task"))) != 1:
            raise RuntimeError(f"preloading started {threads - 1} threads, and a fork copies only one")
        filters = {name: base64.b64decode(text) for name, text in order["filters"].items()}
        os.register_at_fork = _register_at_fork
        self.child_steps = steps.ChildSteps(order["child"], filters, landlock.abi())
        self.wakeup, wake = socket.socketpair()
        for end in (self.wakeup, wake):
            end.setblocking(False)
        self._wake = wake
        signal.set_wakeup_fd(wake.fileno())
        signal.signal(signal.SIGCHLD, _noted)
        self.own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY) if self.namespaced else -1
        self.runner.train(TRAINING_ROUNDS)
        self.worker = self.runner.Runner(_hooks)
        _forget_ourselves()
        namespaces.no_new_privileges()
        if self.namespaced:
            seccomp.install(filters["template"])
        gc.collect()
        gc.freeze()
        self._say(
            {"ready": True, "missing": missing, "base_data": _status_bytes("VmData"), "base_bytes": _status_bytes("RssAnon")}
        )

    def serve(self) -> None:
        """Fork on request, report deaths."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wakeup, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.wakeup.fileno():
                    self._drain()
                else:
                    self._spawn(*_receive(self.control))
            self._reap()

    def _spawn(self, order: dict[str, Any], fds: list[int]) -> None:
        try:
            pid = self._fork()
            if pid == 0:
                self._become_child(order, *fds)
            self.children[pid] = order["id"]
            fds.append(os.pidfd_open(pid))
            socket.send_fds(self.control, [json.dumps({"spawned": order["id"]}).encode()], fds[-1:])
        except OSError as error:
            self._say({"refused": order["id"], "reason": str(error.args[-1])})
        finally:
            for fd in fds:
                os.close(fd)

    def _fork(self) -> int:
        if self.namespaced:
            # Back to our own pid namespace first: the last one made for a child is still set, and cannot be nested in.
            kernel.call("setns", self.own_pids, namespaces.FLAGS["pid"])
            namespaces.unshare(["pid"])
        return os.fork()

    def _become_child(self, order: dict[str, Any], channel: int, output: int) -> None:
        try:
            self.control.close()  # while we held it, the host could not see that the template has died
            _signal.set_wakeup_fd(-1)
            _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
            namespaces.die_with_parent()
            if not self.namespaced and os.getppid() != self.pid:
                os._exit(0)  # orphaned before the kernel could be told to end us with our parent
            house = {"wanted": order["keep"], "worker": 0}
            self.child_steps.walk({**order["values"], "channel": channel, "output": output, "house": house})
            if house["worker"]:
                _keep_house(house["worker"])
            if "env" in order["values"]:
                os.environ.update(order["values"]["env"])
            if order["values"]["train"]:
                self.runner.train(1)
            self.worker.serve(steps.CHANNEL, keep=order["keep"])
        except BaseException as error:  # a half-sealed child must not go on, whatever went wrong
            text = json.dumps(["failed", str(error)]).encode()
            os.write(channel if isinstance(error, steps.StepFailed) else steps.CHANNEL, len(text).to_bytes(4, "little") + text)
        finally:
            os._exit(70)

    def _drain(self) -> None:
        try:
            while self.wakeup.recv(4096):
                pass
        except BlockingIOError:
            pass

    def _reap(self) -> None:
        while self.children:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            identity = self.children.pop(pid, None)
            cpu = usage.ru_utime + usage.ru_stime
            self._say({"exited": identity, "status": os.waitstatus_to_exitcode(status), "cpu": cpu, "rss": usage.ru_maxrss})

    def _say(self, message: dict[str, object]) -> None:
        self.control.send(json.dumps(message).encode())


def _noted(*_: object) -> None:
    """A handler must exist for the wake-up descriptor to be written to."""


def _receive(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    message, fds, _, _ = socket.recv_fds(control, ORDER_BYTES, 2)
    if not message:
        os._exit(0)  # the host has gone; the kernel ends our children with us
    return json.loads(message), list(fds)


def _keep_house(worker: int) -> None:
    """Pid 1 of a kept session: reaps orphans, runs nothing, and ends when the last process has, as its worker did."""
    os.closerange(0, 4)
    code = 0
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(code)
        if pid == worker:
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else 128 - code  # as shells say it: pid 1 cannot die of a signal of its own


def _load_guest(order: dict[str, Any]) -> Any:
    runner = importlib.import_module("gristmill.guest.runner")
    # Packages before the workspace, the workspace last: nothing the agent writes can stand in for either.
    path = [entry for entry in sys.path if entry != _MILL]
    runner.prepare([*path, *([order["site"]] if order["site"] else []), *([order["workspace"]] if order["workspace"] else [])])
    return runner


def _preload(names: list[str]) -> list[str]:
    missing: list[str] = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    return missing


def _forget_ourselves() -> None:
    """Our own modules stay loaded but cannot be imported: the agent's namespace holds nothing of ours."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "gristmill"]:
        del sys.modules[name]


def _status_bytes(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name))


if __name__ == "__main__":
    main()
