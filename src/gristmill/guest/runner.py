# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""The life of a child: it waits for code, runs it and reports; in a session, repeatedly. It runs sealed; it is not a defence."""

import asyncio
import atexit
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
from gristmill.guest import process_baseline as baseline
from gristmill.guest import run_context as contexts
from gristmill.guest import tool_modules as tools
from gristmill.guest.call_shapes import lazy_names as names
from gristmill.guest.calls.channel import Channel, make_frame
from gristmill.guest.calls.pending_call import PendingCall
from gristmill.guest.lone_surrogates import describe_lone_surrogate, make_sendable
from gristmill.guest.values.lenient_json import install_lenient_json
from gristmill.guest.values.result_objects import install_copies
from gristmill.guest.values.run_notes import take_notes
from gristmill.guest.values.shown_media import SHOWN, install_figures

_TRAINING_PROGRAM = "print(1)"
_REHEARSAL_PROGRAM = """print(end='')
__import__('mcp_client').call_mcp_tool('a.b', {'c': 1})
await __import__('asyncio').sleep(0)"""
"""The things that most programs do: print, call a tool, await. It leaves no name behind."""

_QUICKLY_COMPILED = 20_000
"""A program up to this length is compiled before a session confirms that it begins: our code, too, is then known to work."""
_PROGRAM_ERRORS = (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError)
"""What compiling raises for the program's own fault."""

_OWN_FOLDERS, _MOST_LEFT_FILES = frozenset({"media", "results", "__pycache__"}), 4
"""Folders that Gristmill makes in the working directory, and how many names of other files are reported."""

# Bound now: a program that patches these in its own interpreter must not break its report.
_encode = json.JSONEncoder().encode
_getpid = os.getpid
_count_exit_handlers, _run_exit_handlers = atexit._ncallbacks, atexit._run_exitfuncs


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
        self.keep = False
        self.baseline = None  # of a session
        self.exit_handlers = 0  # how many the template has registered

    def install_in_template(self, fd):
        """Prepares in the template what its children then need not prepare. Returns the ``__main__`` module that it replaces."""
        main = sys.modules["__main__"]
        self.channel.open(fd)
        tools.CALLS.channel = self.channel
        os.register_at_fork(after_in_child=self._on_program_fork)
        # As in any Python, and what asyncio looks for; the host interrupts only sessions, which replace it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.modules["__main__"] = self.module
        sys.argv[:] = ["program.py"]
        sys.orig_argv[:] = ["python3", "program.py"]
        self.exit_handlers = _count_exit_handlers()
        return main

    def prime(self, modules):
        """Prepares a child that is next in line while no caller waits: it copies the memory pages that most programs write to,
        and imports what they import."""
        tools.use_modules(modules)
        if modules is not None:
            with contextlib.suppress(Exception):  # a program that imports it will get the error
                importlib.import_module("servers")
        self.rehearse()
        self.count = 0
        tools.CALLS.forget_programs()
        linecache.cache.clear()

    def rehearse(self):
        """Runs a program whose calls are answered locally."""
        with self.channel.answer_calls_locally():
            self.execute("", _REHEARSAL_PROGRAM, 10_000)
        self.loop.close()  # a waiting child should not hold its descriptors
        self.loop = None
        asyncio.set_event_loop(None)

    def serve(self, *, keep):
        """Runs what the host sends: one program, or programs for as long as the session lives."""
        self.pid, self.keep = _getpid(), keep
        _reseed_random()
        if keep:
            signal.signal(signal.SIGINT, self._on_interrupt)
            self.baseline = baseline.ProcessBaseline()
        self._report_ready("")
        while True:
            order, fds = self.channel.next_order()
            if order[0] == "run":
                self._run(*order[1:])
                if not keep:
                    signal.pause()  # the host kills this process; exiting by itself would only race with that
            elif order[0] == "prime":
                self.prime(order[1])
            elif order[0] == "fork":
                self._fork_branch(order[1], fds)

    def _report_ready(self, nonce):
        self.channel.nonce = nonce
        self.channel.send("ready", nonce, self.pid)
        self.channel.nonce = None

    def _run(self, nonce, code, context, result_bytes, call_bytes, modules, kept, given=None):
        unfit, compiled = self._prepare_again(code) if kept else (None, None)
        if unfit is not None:
            self.channel.begin(nonce, 0, "unfit", unfit)
            return  # the host ends this process
        self.channel.begin(nonce, call_bytes, *(("begun",) if kept else ()))
        tools.use_modules(modules)
        if given:
            names.use_names(given)
        if self.channel.home is None:
            self.channel.home = os.getcwd()  # the workspace, read before the program changes the folder
        # The context of an earlier execution must not stay visible; a variable of that name that a session made itself is kept.
        if context or type(vars(self.module).get("context", contexts.EMPTY_CONTEXT)) is contexts.RunContext:
            self.module.context = contexts.RunContext(context) if context else contexts.EMPTY_CONTEXT
        report = self.execute(nonce, code, result_bytes, compiled)
        if _getpid() != self.pid:
            os._exit(0)  # a fork made by the program has arrived here too
        self.channel.send_report(report)

    def _prepare_again(self, code):
        """Prepares a session for another program; returns why that is impossible or None, and the program if it is compiled."""
        try:
            unfit = self.baseline.restore(self.channel.home)
            if unfit is not None or len(code) > _QUICKLY_COMPILED:
                return unfit, None
            return None, program.compile_program(code, self._name_program(self.count + 1))
        except _PROGRAM_ERRORS:
            return None, None  # it is compiled again when it runs, and then its error is reported
        except BaseException:  # an earlier program has changed what our own code uses
            return "interpreter", None

    def execute(self, nonce, code, result_bytes, compiled=None):
        """Runs one program; returns the closing frame."""
        self.count += 1
        SHOWN.take_fitting(0)
        take_notes()
        result, error, kind, limit = None, None, None, None
        try:
            self.interruptible = True
            result = self._run_program(code, self._name_program(self.count), compiled)
            loops.finish_cancelled_tasks(self.loop)
            if not self.keep and _count_exit_handlers() != self.exit_handlers and _getpid() == self.pid:
                _run_exit_handlers()
        except BaseException as raised:
            self.interruptible = False
            error, kind, limit = _describe_outcome(raised, self.loop, self._name_program(self.count))
        finally:
            self.interruptible = False
            baseline.stop_timers()
        unused = self._wait_for_open_calls()
        if unused and error is None:
            error, kind, limit = failure.describe_failure(unused)
        try:
            text, whole = render.encode_value(result, result_bytes)
        except UnicodeEncodeError:
            text, whole, kind = "null", True, "ValueError"
            error = f"ValueError: {describe_lone_surrogate(render.make_plain(result), 'the result')}"
        if not whole:
            limit = limit or "result_bytes"
        _flush_output()
        if self.baseline is not None:
            self.baseline.restore_kernel_state()
        left = [] if self.keep or error is not None or _getpid() != self.pid else _list_left_files(self.channel.home)
        parts = SHOWN.take_fitting(result_bytes - len(text))
        tail = _encode([make_sendable(error), make_sendable(kind), limit, take_notes(), left, parts])[1:]
        return f'["done",{_encode(nonce)},{text},{tail}'

    def _name_program(self, number):
        return f"{tools.PROGRAM_FILE_PREFIX}{number}>"

    def _run_program(self, code, name, compiled):
        compiled, sites = compiled or program.compile_program(code, name)
        tools.CALLS.parallel[name] = sites
        scope = vars(self.module)
        scope.pop(program.RESULT_NAME, None)
        try:
            if compiled.co_flags & inspect.CO_COROUTINE:
                self._run_coroutine(eval(compiled, scope))
            else:
                exec(compiled, scope)
            value = scope.pop(program.RESULT_NAME, None)
        except program.Return as returned:
            value = returned.value
        if asyncio.iscoroutine(value) or type(value) is PendingCall:
            value = self._run_coroutine(loops.await_value(value))  # a last line `main()` whose await was forgotten
        return value

    def _run_coroutine(self, coroutine):
        if self.loop is None or self.loop.is_closed() or self.loop.is_running():  # a thread that was left behind may run it
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        if getattr(self.loop, "_ready", None):
            # An earlier program of the session may have left an order to stop in the loop: let it take effect now.
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()
        return self.loop.run_until_complete(coroutine)

    def _wait_for_open_calls(self):
        """Waits for calls in progress; returns the first error that the program has not seen, which becomes its failure."""
        if _getpid() != self.pid:
            return None
        try:
            errors = self.channel.settle_all()
        except BaseException as raised:
            return raised
        return errors[0]._error if errors else None

    def _on_interrupt(self, *_):
        """Interrupts the program when the host asks a session to stop; between programs there is nothing to stop."""
        if self.interruptible:
            raise KeyboardInterrupt

    def _on_program_fork(self):
        """Closes the channel in a fork made by the program: such a fork must never use it."""
        if not self.branching:
            self.channel.close()

    def _fork_branch(self, nonce, fds):
        """Forks this session: the branch keeps the state and uses a channel of its own."""
        # Branches that have ended count as processes until they are waited for; the program waits for its own children itself.
        self.branches = {pid for pid in self.branches if _is_running(pid)}
        self.branching = True
        try:
            child = os.fork() if len(fds) == 2 else -1
        except OSError:
            child = -1  # no process is available: closing the descriptors tells the host
        finally:
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
        if self.baseline is not None:
            self.baseline.note_output()
        _reseed_random()
        self._report_ready(nonce)


def _is_running(pid):
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:  # the program has waited for all its children, and so for this one
        return False


def _reseed_random():
    """Seeds the random generators again: forks share their state, and neither Python's nor numpy's may repeat in the next run."""
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def _list_left_files(folder):
    """Returns the names of the first files in the working directory of a program whose files are not kept."""
    try:
        names = os.listdir(folder) if folder else ()
    except OSError:
        return ()
    return [make_sendable(name[:200]) for name in sorted(names) if name not in _OWN_FOLDERS and name[0] != "."][:_MOST_LEFT_FILES]


def _describe_outcome(raised, loop, name):
    if isinstance(raised, SystemExit):
        if raised.code in (None, 0):
            return None, None, None
        return f"SystemExit: {raised.code}", "SystemExit", None
    if isinstance(raised, KeyboardInterrupt):
        return failure.describe_interrupt(raised, loop, name)
    return failure.describe_failure(raised)


def _flush_output():
    """Flushes all printed text before the report and restores sys.stdout and sys.stderr, which the program may have replaced."""
    for name in ("stdout", "stderr"):
        for stream in (getattr(sys, name, None), getattr(sys, f"__{name}__", None)):
            try:
                stream.flush()
            except Exception:
                pass
        setattr(sys, name, getattr(sys, f"__{name}__"))


def prepare_template(library_path):
    """Prepares, once in the template, everything that children share."""
    sys.path[:] = library_path
    loops.install_asyncio_patches()
    program.install_builtins()
    install_copies()
    install_lenient_json()
    install_figures()
    tools.install_modules()
    names.install_lazy_names()
    loops.on_close.append(lambda loop: tools.CALLS.channel.unwatch(loop))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")


def train_template(rounds):
    """Runs small programs, so that what every program needs is specialised, cached and in the template's memory already."""
    stdout = sys.stdout
    ours, theirs = socket.socketpair()
    with theirs, open(os.devnull, "w", encoding="utf-8") as nowhere:
        runner = Runner()
        runner.pid = os.getpid()
        runner.channel.open(ours.detach())
        tools.CALLS.channel = runner.channel
        for _ in range(rounds):
            sys.stdout = nowhere
            theirs.sendall(make_frame(json.dumps(["run", "", _TRAINING_PROGRAM, {}, 10_000, 10_000, None, False])))
            order, _ = runner.channel.next_order()
            runner._run(*order[1:])
            theirs.recv(1 << 16)
            runner.rehearse()
        runner.channel.close()
    sys.stdout = stdout
    tools.CALLS.channel = None
    tools.CALLS.forget_programs()
    linecache.cache.clear()
