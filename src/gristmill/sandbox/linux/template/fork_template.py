"""The template: a single-threaded interpreter with the common modules loaded, which forks a sealed child per request.

It runs inside the template jail and never runs a caller's code. One socket connects it to the host: orders and descriptors come
in, pidfds and exit statuses go out. When the host or the keeper ends, it ends too, and with it every child.
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
    """Prepares the template, reports that it is ready, then serves until the host closes the socket."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=CONTROL)
    order = json.loads(control.recv(ORDER_BYTES))
    try:
        template = ForkTemplate(control, order)
    except Exception as error:  # for any error: the host must be told, and nothing may run
        control.send(json.dumps({"failed": f"the template could not be prepared: {error}"}).encode())
        os._exit(70)
    template.serve()


class ForkTemplate:
    """The process that children are forked from."""

    def __init__(self, control: socket.socket, order: dict[str, Any]) -> None:
        self.control = control
        self.pid = os.getpid()
        self.namespaced = order["level"] == "namespaces"
        self.children: dict[int, int] = {}  # pid -> request id
        self.program = next((step for step in order["child"] if step["do"] == "exec_program"), None)
        self.runner = _load_guest(order)
        missing = _preload_modules(order["preload"])
        if (threads := len(os.listdir("/proc/self/task"))) != 1:
            raise RuntimeError(f"preloading started {threads - 1} threads, and a fork copies only one")
        filters = {name: base64.b64decode(text) for name, text in order["filters"].items()}
        # Python's own fork would run the hooks of modules (locks, the seed of random) in every child. They matter where threads
        # run and locks are held, which is not the case here; they stay registered for the forks that a caller's code makes.
        self.walker = batch.load_native_walker() or batch.PYTHON_WALKER
        self.sealer = seal.ChildSealer(order["child"], filters, self.walker)
        # By descriptor, not by a signal handler: a child would have to undo what Python stores for a handler.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        self.child_signals = kernel.make_syscall(
            "signalfd4", -1, ctypes.byref(ctypes.c_uint64(1 << (signal.SIGCHLD - 1))), 8, SFD_FLAGS
        )
        self.pid_namespace_calls = _prepare_pid_namespace_calls() if self.namespaced else batch.SyscallBatch()
        self.runner.train_template(TRAINING_ROUNDS)
        self.worker = self.runner.Runner()
        self.main = self.worker.install_in_template(seal.CHANNEL)
        _unlist_own_modules()
        namespaces.forbid_new_privileges()
        if self.namespaced:
            seccomp.install_filter(filters["template"])
        gc.collect()
        gc.freeze()
        self._send_to_host(
            json.dumps(
                {
                    "ready": True,
                    "missing": missing,
                    "base_data": _read_status_bytes("VmData"),
                    "base_bytes": _read_status_bytes("RssAnon"),
                }
            )
        )

    def serve(self) -> None:
        """Forks children on request and reports their exits."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.child_signals, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.child_signals:
                    os.read(fd, 1 << 12)
                    self._report_exits()
                else:
                    self._fork_ordered_child()

    def _fork_ordered_child(self) -> None:
        """Forks one child. An order is a line of two numbers (its own, and whether to keep the child), then the values."""
        message, ancillary, _, _ = self.control.recvmsg(SPAWN_BYTES, TWO_FDS)
        if not message:
            os._exit(0)  # the host has ended; the kernel ends our children with this process
        head, _, values = message.partition(b"\n")
        number, keep = map(int, head.split())
        fds: list[int] = []
        try:
            fds += _unpack_descriptors(ancillary)
            sealing = self.sealer.find_prepared_seal(values) or self.sealer.prepare_seal(values, json.loads(values))
            sealing.set_descriptors(*fds)
            if self.namespaced:
                self.pid_namespace_calls.walk(self.walker)
            end = sealing.worker_at if keep else None
            forked = self.sealer.fork_sealed_child(sealing, end)
            if forked > batch.FORK_FAILED:
                self._become_child(sealing, forked, end, values, fds[0])
            if forked == batch.FORK_FAILED:
                raise OSError(errno.EAGAIN, "fork: no more processes are available")
            pid = -forked
            self.children[pid] = number
            fds.append(os.pidfd_open(pid))
            self.control.sendmsg([b'{"spawned": %d}' % number], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, _FD.pack(fds[2]))])
        except OSError as error:
            self._send_to_host(json.dumps({"refused": number, "reason": str(error.args[-1])}))
        finally:
            for fd in fds:
                os.close(fd)

    def _become_child(self, sealing: seal.ChildSeal, stopped: int, end: int | None, values: bytes, channel: int) -> None:
        """Runs first in a new child, which by now is sealed; if sealing failed, the child ends here."""
        try:
            self.control.detach()  # this socket is closed, and its number now belongs to the channel
            sealing.batch.check_complete(stopped, end)
            if end is not None:
                self._split_session_processes(sealing, end)
            channel = seal.CHANNEL
            if not self.namespaced and os.getppid() != self.pid:
                os._exit(0)  # the parent ended before the kernel was told to end this process with it
            own: dict[str, str] = json.loads(values)["env"] if b'"env"' in values else {}
            if self.program is not None:
                _become_program(self.program, own)
            os.environ.update(own)
            self.worker.serve(keep=end is not None)
        except BaseException as error:  # for any error: a half-sealed child must not continue
            text = json.dumps(["failed", str(error.args[-1] if isinstance(error, OSError) else error)]).encode()
            os.write(channel, len(text).to_bytes(4, "little") + text)
        finally:
            os._exit(70)

    def _split_session_processes(self, sealing: seal.ChildSeal, at: int) -> None:
        """Forks the worker of a kept session and seals both processes alike; only the worker returns from here."""
        worker = kernel.fork() if self.namespaced else 0
        if worker < 0:
            raise OSError(errno.EAGAIN, "fork: no more processes are available")
        self.sealer.continue_sealing(sealing, at)
        if worker:
            _reap_until_empty(worker)

    def _report_exits(self) -> None:
        while self.children:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            number, cpu = self.children.pop(pid, -1), usage.ru_utime + usage.ru_stime
            code = os.waitstatus_to_exitcode(status)
            self._send_to_host(f'{{"exited": {number}, "status": {code}, "cpu": {cpu:.6f}, "rss": {usage.ru_maxrss}}}')

    def _send_to_host(self, message: str) -> None:
        self.control.send(message.encode())


def _unpack_descriptors(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, int]:
    if len(ancillary) != 1 or len(ancillary[0][2]) != _FDS.size:
        raise OSError(errno.EMFILE, "the descriptors of a child did not arrive: too many are open")
    return _FDS.unpack(ancillary[0][2])


def _prepare_pid_namespace_calls() -> batch.SyscallBatch:
    """Prepares the calls that make a new pid namespace for the next child."""
    calls = batch.SyscallBatch()
    calls.step = "a new pid namespace"
    # Back to our own namespace first: the one made for the last child is still set, and a new one must not be nested in it.
    calls.add("setns", os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC), namespaces.FLAGS["pid"])
    calls.add("unshare", namespaces.FLAGS["pid"])
    return calls


def _reap_until_empty(worker: int) -> None:
    """Serves as pid 1 of a kept session: reaps orphans, runs no code, exits after the last process, with its worker's code."""
    os.closerange(0, 4)
    code = 0
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(code)
        if pid == worker:
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else 128 - code  # in the way of shells: pid 1 cannot kill itself by a signal


def _become_program(program: dict[str, Any], own: dict[str, str]) -> None:
    """Replaces this sealed child by another program; the channel is its standard input and output."""
    for fd in (0, 1):
        os.dup2(seal.CHANNEL, fd)
    environment = {**program["env"], **own}
    environment.setdefault("DENO_DIR", f"{environment.get('TMPDIR', '/tmp')}/.deno")
    os.execve(program["command"][0], program["command"], environment)


def _load_guest(order: dict[str, Any]) -> Any:
    runner = importlib.import_module("gristmill.guest.runner")
    # Packages come before the workspace, which comes last: no file that a program writes can replace a module.
    path = [entry for entry in sys.path if entry != _MILL]
    runner.prepare_template(
        [*path, *([order["site"]] if order["site"] else []), *([order["workspace"]] if order["workspace"] else [])]
    )
    return runner


def _preload_modules(names: list[str]) -> list[str]:
    missing: list[str] = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    return missing


def _unlist_own_modules() -> None:
    """Removes our own modules from ``sys.modules``: they stay loaded, but a caller's code cannot import them."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "gristmill"]:
        del sys.modules[name]


def _read_status_bytes(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name))


if __name__ == "__main__":
    main()
