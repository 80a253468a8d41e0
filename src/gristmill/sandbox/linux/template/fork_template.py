"""The template: a single-threaded interpreter with the common modules loaded, which forks a sealed child per request.

It runs inside the template jail and never runs agent code. It speaks with the host over one socket: orders and descriptors
come in, pidfds and exit statuses go out. When the host or the keeper is gone, so is it, and with it every child.
"""

import base64
import ctypes
import errno
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys
from typing import Any

_MILL = os.path.dirname(os.path.abspath(__file__)).removesuffix("/gristmill/sandbox/linux/template")
sys.path.insert(0, _MILL)

from gristmill.sandbox.linux import kernel, namespaces  # noqa: E402 - made importable above
from gristmill.sandbox.linux.seccomp import install_filter as seccomp  # noqa: E402 - made importable above
from gristmill.sandbox.linux.template import seal_child as seal  # noqa: E402 - made importable above
from gristmill.sandbox.linux.template import syscall_batch as batch  # noqa: E402 - made importable above

CONTROL = 3
ORDER_BYTES = 1 << 18
SPAWN_BYTES = 1 << 16  # larger buffers make malloc map and unmap memory for every order
TRAINING_ROUNDS = 30
_FD, _FDS = struct.Struct("i"), struct.Struct("ii")
TWO_FDS = socket.CMSG_SPACE(_FDS.size)
SFD_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC


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
        # Python's own fork would run the hooks of modules (locks, the seed of random) in every child. They matter where threads
        # run and locks are held, which is not here; they stay registered for the forks that the agent's code makes.
        self.walker = batch.native() or batch.SLOW
        self.sealer = seal.Sealer(order["child"], filters, self.walker)
        # By descriptor, not by handler: a child would have to undo what Python keeps for one.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        self.deaths = kernel.call("signalfd4", -1, ctypes.byref(ctypes.c_uint64(1 << (signal.SIGCHLD - 1))), 8, SFD_FLAGS)
        self.fresh_pids = _fresh_pids() if self.namespaced else batch.Batch()
        self.runner.train(TRAINING_ROUNDS)
        self.worker = self.runner.Runner()
        self.main = self.worker.settle(seal.CHANNEL)
        _forget_ourselves()
        namespaces.no_new_privileges()
        if self.namespaced:
            seccomp.install(filters["template"])
        gc.collect()
        gc.freeze()
        self._say(
            json.dumps(
                {"ready": True, "missing": missing, "base_data": _status_bytes("VmData"), "base_bytes": _status_bytes("RssAnon")}
            )
        )

    def serve(self) -> None:
        """Fork on request, report deaths."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.deaths, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.deaths:
                    os.read(fd, 1 << 12)
                    self._reap()
                else:
                    self._spawn()

    def _spawn(self) -> None:
        """An order is a line of two numbers (its own, and whether to keep the child), then the child's values."""
        message, ancillary, _, _ = self.control.recvmsg(SPAWN_BYTES, TWO_FDS)
        if not message:
            os._exit(0)  # the host has gone; the kernel ends our children with us
        head, _, values = message.partition(b"\n")
        number, keep = map(int, head.split())
        fds: list[int] = []
        try:
            fds += _descriptors(ancillary)
            sealing = self.sealer.known(values) or self.sealer.seal(values, json.loads(values))
            sealing.aim(*fds)
            if self.namespaced:
                self.fresh_pids.walk(self.walker)
            end = sealing.worker_at if keep else None
            forked = self.sealer.fork(sealing, end)
            if forked > batch.FORK_FAILED:
                self._become_child(sealing, forked, end, values, fds[0])
            if forked == batch.FORK_FAILED:
                raise OSError(errno.EAGAIN, "fork: no process to be had")
            pid = -forked
            self.children[pid] = number
            fds.append(os.pidfd_open(pid))
            self.control.sendmsg([b'{"spawned": %d}' % number], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, _FD.pack(fds[2]))])
        except OSError as error:
            self._say(json.dumps({"refused": number, "reason": str(error.args[-1])}))
        finally:
            for fd in fds:
                os.close(fd)

    def _become_child(self, sealing: seal.Seal, stopped: int, end: int | None, values: bytes, channel: int) -> None:
        """What Python of the child runs first; the kernel has it sealed by now, or it ends here."""
        try:
            self.control.detach()  # it is closed, and the number is the channel's now
            sealing.batch.check(stopped, end)
            if end is not None:
                self._found_family(sealing, end)
            channel = seal.CHANNEL
            if not self.namespaced and os.getppid() != self.pid:
                os._exit(0)  # orphaned before the kernel could be told to end us with our parent
            if b'"env"' in values:
                os.environ.update(json.loads(values)["env"])
            self.worker.serve(keep=end is not None)
        except BaseException as error:  # a half-sealed child must not go on, whatever went wrong
            text = json.dumps(["failed", str(error.args[-1] if isinstance(error, OSError) else error)]).encode()
            os.write(channel, len(text).to_bytes(4, "little") + text)
        finally:
            os._exit(70)

    def _found_family(self, sealing: seal.Seal, at: int) -> None:
        """Both processes of a session are sealed alike; only the second returns from here."""
        worker = kernel.fork() if self.namespaced else 0
        if worker < 0:
            raise OSError(errno.EAGAIN, "fork: no process to be had")
        self.sealer.walk(sealing, at)
        if worker:
            _keep_house(worker)

    def _reap(self) -> None:
        while self.children:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            number, cpu = self.children.pop(pid, -1), usage.ru_utime + usage.ru_stime
            code = os.waitstatus_to_exitcode(status)
            self._say(f'{{"exited": {number}, "status": {code}, "cpu": {cpu:.6f}, "rss": {usage.ru_maxrss}}}')

    def _say(self, message: str) -> None:
        self.control.send(message.encode())


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, int]:
    if len(ancillary) != 1 or len(ancillary[0][2]) != _FDS.size:
        raise OSError(errno.EMFILE, "the descriptors of a child did not arrive: too many are open")
    return _FDS.unpack(ancillary[0][2])


def _fresh_pids() -> batch.Batch:
    """Calls that make a new pid namespace for the next child."""
    calls = batch.Batch()
    calls.step = "a new pid namespace"
    # Back to our own first: the last one made for a child is still set, and cannot be nested in.
    calls.add("setns", os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC), namespaces.FLAGS["pid"])
    calls.add("unshare", namespaces.FLAGS["pid"])
    return calls


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
