"""The self-check that a sandbox must pass on its machine, short enough to run at every `gristmill doctor`.

Each question is a program that tries something forbidden and returns the outcome.
"""

from collections.abc import AsyncIterator

from msgspec import Struct
from msgspec.structs import replace

from gristmill.errors import UnknownTool
from gristmill.events import ignore_event
from gristmill.model import Isolation, Limits, Report, ToolCall, ToolResult
from gristmill.sandbox.base import Pool, SandboxJob

_ATTEMPT_FUNCTION = """
def attempt(action):
    try:
        return repr(action())
    except BaseException as error:
        return "refused: " + type(error).__name__
"""


class CheckQuestion(Struct, frozen=True, kw_only=True):
    """One promise of the sandbox and the program that tests it."""

    promise: str
    code: str
    expect: str = "refused"
    level: Isolation | None = None


class CheckAnswer(Struct, frozen=True, kw_only=True):
    """Whether the promise held, and what the program returned."""

    promise: str
    held: bool
    seen: str


QUESTIONS = (
    CheckQuestion(promise="code runs", code="'alive'", expect="alive"),
    CheckQuestion(promise="host files cannot be read", code="attempt(lambda: open('/etc/shadow').read())"),
    CheckQuestion(promise="nothing outside the workspace can be written", code="attempt(lambda: open('/usr/lib/x', 'w'))"),
    CheckQuestion(promise="no socket can be opened", code="import socket\nattempt(lambda: socket.socket())"),
    CheckQuestion(
        promise="no new namespace can be made", code="import ctypes\n-1 == ctypes.CDLL(None).unshare(0x10000000) and 'refused'"
    ),
    CheckQuestion(
        promise="no other process can be debugged",
        code="import ctypes\n-1 == ctypes.CDLL(None).ptrace(16, 1, 0, 0) and 'refused'",
    ),
    CheckQuestion(
        promise="there are no capabilities",
        code="[line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')][0]",
        expect="0000000000000000",
        level="namespaces",
    ),
    CheckQuestion(
        promise="a system-call filter is in force and privileges cannot grow",
        code="'/'.join(line.split()[1] for line in open('/proc/self/status') if line.startswith(('Seccomp:', 'NoNewPrivs')))",
        expect="1/2",
        level="namespaces",
    ),
    CheckQuestion(promise="the environment holds no secret", code="import os\nstr(set(os.environ) - KNOWN)", expect="set()"),
    CheckQuestion(
        promise="only its own processes are visible", code="import os\nstr(os.getpid())", expect="1", level="namespaces"
    ),
    CheckQuestion(promise="the gateway's own code cannot be imported", code="attempt(lambda: __import__('gristmill'))"),
    CheckQuestion(
        promise="a tool that does not exist is refused", code="from servers import nobody\nattempt(lambda: nobody.nothing())"
    ),
)
_KNOWN_VARIABLES = (
    "KNOWN = {'HOME', 'LANG', 'LD_LIBRARY_PATH', 'MALLOC_ARENA_MAX', 'MKL_NUM_THREADS', 'OMP_NUM_THREADS', "
    "'OPENBLAS_NUM_THREADS', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'PYTHONPATH', 'TMPDIR', 'TZ', 'USER', 'LC_CTYPE'}\n"
)


async def run_selfcheck(pool: Pool, limits: Limits) -> AsyncIterator[CheckAnswer]:
    """Runs every question in a fresh sandbox of ``pool`` and yields the answers."""
    for question in QUESTIONS:
        if question.level in (None, pool.isolation):
            report = await _run_check(pool, question.code, limits)
            seen = str(report.result) if report.status == "ok" else f"{report.status}: {report.error}"
            yield CheckAnswer(promise=question.promise, held=report.status == "ok" and question.expect in seen, seen=seen)
    report = await _run_check(pool, "while True: pass", replace(limits, seconds=0.3))
    yield CheckAnswer(promise="a run ends at its limit", held=report.limit == "seconds", seen=report.limit or report.status)
    report = await _run_check(pool, "x = bytearray(2 << 30)", limits)
    yield CheckAnswer(promise="memory is limited", held=report.limit == "memory_mb", seen=report.limit or report.status)


async def _run_check(pool: Pool, code: str, limits: Limits) -> Report:
    async with pool.lease(limits) as sandbox:
        return await sandbox.run(
            SandboxJob(execution="selfcheck", code=_ATTEMPT_FUNCTION + _KNOWN_VARIABLES + code, limits=limits),
            _refuse_call,
            ignore_event,
        )


async def _refuse_call(call: ToolCall) -> ToolResult:
    raise UnknownTool(f"there is no tool {call.tool!r}")
