# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""The life of a child: wait for code, run it, report, and for a session again. Runs sealed; trusts nobody, guards nothing."""

import asyncio
import contextlib
import importlib
import inspect
import json
import linecache
import os
import random
import signal
import socket
import sys
import types

from gristmill.guest import asyncio_loops as loops
from gristmill.guest import compile_program as program
from gristmill.guest import describe_failure as failure
from gristmill.guest import json_values as render
from gristmill.guest import run_context as contexts
from gristmill.guest import tool_modules as tools
from gristmill.guest.channel import Channel, frame
from gristmill.guest.pending_call import Pending

_WARM_UP = "print(1)"
_REHEARSAL = """print(end='')
__import__('mcp_client').call_mcp_tool('a.b', {'c': 1})
await __import__('asyncio').sleep(0)"""
"""What most programs do: print, call a tool, await. Leaves no name behind."""

# Bound now: code that patches these in its own interpreter must not break the report about it.
_encode = json.JSONEncoder().encode
_getpid = os.getpid


class Runner:
    """One interpreter's state, and the executions that share it."""

    def __init__(self):
        self.channel = Channel()
        self.pid = 0
        self.loop = None
        self.branching = False
        self.branches = set()
        self.interruptible = False
        self.module = types.ModuleType("__main__")
        self.count = 0

    def settle(self, fd):
        """Once in the template, for all children: what costs each of them nothing then. Returns the module it displaces."""
        main = sys.modules["__main__"]
        self.channel.open(fd)
        tools.CALLS.channel = self.channel
        os.register_at_fork(after_in_child=self._forked)
        signal.signal(signal.SIGINT, self._interrupted)
        sys.modules["__main__"] = self.module
        return main

    def prime(self, modules):
        """We are next, and nobody waits yet: make the pages that most programs write to our own, and import what they import."""
        tools.use_modules(modules)
        if modules is not None:
            with contextlib.suppress(Exception):  # a program that imports it will be told
                importlib.import_module("servers")
        self.rehearse()
        self.count = 0
        tools.CALLS.forget()
        linecache.cache.clear()

    def rehearse(self):
        """Run a program whose calls stay here."""
        with self.channel.talking_to_itself():
            self.execute(_REHEARSAL, 10_000)
        self.loop.close()  # its descriptors are not for a child that waits
        self.loop = None
        asyncio.set_event_loop(None)

    def serve(self, *, keep):
        """Run what the host sends: once, or for as long as the session lives."""
        self.pid = _getpid()
        _reseed()
        self.channel.send("ready", self.pid)
        while True:
            order, fds = self.channel.next_order()
            if order[0] == "run":
                self._run(*order[1:])
                if not keep:
                    signal.pause()  # the host kills us; leaving by ourselves would only race it
            elif order[0] == "prime":
                self.prime(order[1])
            elif order[0] == "fork":
                self._branch(fds)

    def _run(self, code, context, result_bytes, modules):
        tools.use_modules(modules)
        if self.channel.home is None:
            self.channel.home = os.getcwd()  # the workspace, before the code goes elsewhere
        # That of the execution before is not for this one; a variable of that name that a session made itself is its own.
        if context or type(vars(self.module).get("context", contexts.EMPTY)) is contexts.Context:
            self.module.context = contexts.Context(context) if context else contexts.EMPTY
        report = self.execute(code, result_bytes)
        if _getpid() != self.pid:
            os._exit(0)  # a fork made by the agent came out here too
        self.channel.send_text(report)

    def execute(self, code, result_bytes):
        """Run one program; returns the closing frame."""
        self.count += 1
        result, error, kind, limit = None, None, None, None
        try:
            self.interruptible = True
            result = self._program(code, f"{tools.AGENT}{self.count}>")
        except BaseException as raised:
            error, kind, limit = _outcome(raised)
        finally:
            self.interruptible = False
        unused = self._settle()
        if unused and error is None:
            error, kind, limit = failure.describe(unused)
        result, whole = render.dumps(result, result_bytes)
        if not whole:
            limit = limit or "result_bytes"
        _flush()
        tail = _encode([error, kind, limit])[1:]
        return f'["done",{result},{tail}'

    def _program(self, code, name):
        compiled, sites = program.load(code, name)
        tools.CALLS.parallel[name] = sites
        scope = vars(self.module)
        scope.pop(program.RESULT, None)
        try:
            if compiled.co_flags & inspect.CO_COROUTINE:
                self._await(eval(compiled, scope))
            else:
                exec(compiled, scope)
            value = scope.pop(program.RESULT, None)
        except program.Return as returned:
            value = returned.value
        if asyncio.iscoroutine(value) or type(value) is Pending:
            value = self._await(loops.value_of(value))  # a last line `main()` whose await was forgotten
        return value

    def _await(self, coroutine):
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(coroutine)

    def _settle(self):
        """Wait for calls still under way; the first failure that nobody looked at is the program's failure."""
        if _getpid() != self.pid:
            return None
        try:
            errors = self.channel.settle_all()
        except BaseException as raised:
            return raised
        return errors[0].error if errors else None

    def _interrupted(self, *_):
        """The host asks a session to stop; outside a program there is nothing to stop."""
        if self.interruptible:
            self.interruptible = False
            raise KeyboardInterrupt

    def _forked(self):
        """A fork made by the agent's code must never speak on the channel."""
        if not self.branching:
            self.channel.close()

    def _branch(self, fds):
        """Fork this session: the branch takes the state along and speaks on its own channel."""
        # Branches that have ended still count as processes until someone looks; the agent's own children are its affair.
        self.branches = {pid for pid in self.branches if os.waitpid(pid, os.WNOHANG)[0] == 0}
        self.branching = True
        try:
            child = os.fork()
        except OSError:
            child = -1  # no process left to have: closing the descriptors tells the host
        self.branching = False
        if child:
            if child > 0:
                self.branches.add(child)
            for fd in fds:
                os.close(fd)
            return
        self.branches = set()
        self.pid = os.getpid()
        self.loop = None
        asyncio.set_event_loop(None)
        channel, output = fds
        for fd in (1, 2):
            os.dup2(output, fd)
        os.close(output)
        self.channel.branch(channel)
        _reseed()
        self.channel.send("ready", os.getpid())


def _reseed():
    """Forks share the state of random generators: neither Python's nor numpy's may repeat in the next run."""
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def _outcome(raised):
    if isinstance(raised, SystemExit):
        if raised.code in (None, 0):
            return None, None, None
        return f"SystemExit: {raised.code}", "SystemExit", None
    return failure.describe(raised)


def _flush():
    """Get everything printed out before the report; whatever the agent did to sys.stdout is its own affair."""
    for name in ("stdout", "stderr"):
        for stream in (getattr(sys, name, None), getattr(sys, f"__{name}__", None)):
            try:
                stream.flush()
            except Exception:
                pass
        setattr(sys, name, getattr(sys, f"__{name}__"))


def prepare(library_path):
    """Once in the template: everything that children share."""
    sys.path[:] = library_path
    loops.install()
    program.install()
    tools.install()
    loops.on_close.append(lambda loop: tools.CALLS.channel.unwatch(loop))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="replace")


def train(rounds):
    """Run small programs, so that what every program needs is specialised, cached and in our own pages already."""
    stdout = sys.stdout
    ours, theirs = socket.socketpair()
    with theirs, open(os.devnull, "w", encoding="utf-8") as nowhere:
        runner = Runner()
        runner.pid = os.getpid()
        runner.channel.open(ours.detach())
        tools.CALLS.channel = runner.channel
        for _ in range(rounds):
            sys.stdout = nowhere
            theirs.sendall(frame(json.dumps(["run", _WARM_UP, {}, 10_000, None])))
            order, _ = runner.channel.next_order()
            runner._run(*order[1:])
            theirs.recv(1 << 16)
            runner.rehearse()
        runner.channel.close()
    sys.stdout = stdout
    tools.CALLS.channel = None
    tools.CALLS.forget()
    linecache.cache.clear()
