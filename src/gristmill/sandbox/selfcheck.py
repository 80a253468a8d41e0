"""The exam that a sandbox must pass on the machine it is on, short enough to run at every `gristmill doctor`.

Each question is a program that tries what must not work and returns what came of it.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

from gristmill.errors import UnknownTool
from gristmill.events import ignore
from gristmill.model import Isolation, Limits, Report, ToolCall, ToolResult
from gristmill.sandbox.base import Job, Pool
from gristmill.values import dataclass

_TRY = """
def attempt(action):
    try:
        return repr(action())
    except BaseException as error:
        return "refused: " + type(error).__name__
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One promise and the program that tests it."""

    promise: str
    code: str
    expect: str = "refused"
    level: Isolation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Whether the promise held, and what was seen."""

    promise: str
    held: bool
    seen: str


QUESTIONS = (
    Question(promise="code runs", code="'alive'", expect="alive"),
    Question(promise="host files cannot be read", code="attempt(lambda: open('/etc/shadow').read())"),
    Question(promise="nothing outside the workspace can be written", code="attempt(lambda: open('/usr/lib/x', 'w'))"),
    Question(promise="no socket can be opened", code="import socket\nattempt(lambda: socket.socket())"),
    Question(
        promise="no new namespace can be made", code="import ctypes\n-1 == ctypes.CDLL(None).unshare(0x10000000) and 'refused'"
    ),
    Question(
        promise="no other process can be debugged",
        code="import ctypes\n-1 == ctypes.CDLL(None).ptrace(16, 1, 0, 0) and 'refused'",
    ),
    Question(
        promise="there are no capabilities",
        code="[line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')][0]",
        expect="0000000000000000",
        level="namespaces",
    ),
    Question(
        promise="a system-call filter is in force and privileges cannot grow",
        code="'/'.join(line.split()[1] for line in open('/proc/self/status') if line.startswith(('Seccomp:', 'NoNewPrivs')))",
        expect="1/2",
        level="namespaces",
    ),
    Question(promise="the environment holds no secret", code="import os\nstr(set(os.environ) - KNOWN)", expect="set()"),
    Question(promise="only its own processes are visible", code="import os\nstr(os.getpid())", expect="1", level="namespaces"),
    Question(promise="the gateway's own code cannot be imported", code="attempt(lambda: __import__('gristmill'))"),
    Question(
        promise="a tool that does not exist is refused", code="from servers import nobody\nattempt(lambda: nobody.nothing())"
    ),
)
_KNOWN = (
    "KNOWN = {'HOME', 'LANG', 'LD_LIBRARY_PATH', 'MALLOC_ARENA_MAX', 'MKL_NUM_THREADS', 'OMP_NUM_THREADS', "
    "'OPENBLAS_NUM_THREADS', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'PYTHONPATH', 'TMPDIR', 'TZ', 'USER', 'LC_CTYPE'}\n"
)


async def selfcheck(pool: Pool, limits: Limits) -> AsyncIterator[Answer]:
    """Put every question to fresh sandboxes of ``pool``."""
    for question in QUESTIONS:
        if question.level in (None, pool.isolation):
            report = await _ask(pool, question.code, limits)
            seen = str(report.result) if report.status == "ok" else f"{report.status}: {report.error}"
            yield Answer(promise=question.promise, held=report.status == "ok" and question.expect in seen, seen=seen)
    report = await _ask(pool, "while True: pass", replace(limits, seconds=0.3))
    yield Answer(promise="a run ends at its limit", held=report.limit == "seconds", seen=report.limit or report.status)
    report = await _ask(pool, "x = bytearray(2 << 30)", limits)
    yield Answer(promise="memory is limited", held=report.limit == "memory_mb", seen=report.limit or report.status)


async def _ask(pool: Pool, code: str, limits: Limits) -> Report:
    async with pool.lease(limits) as sandbox:
        return await sandbox.run(Job(execution="selfcheck", code=_TRY + _KNOWN + code, limits=limits), _no_tools, ignore)


async def _no_tools(call: ToolCall) -> ToolResult:
    raise UnknownTool(f"there is no tool {call.tool!r}")
