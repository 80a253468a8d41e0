"""How a run ended: the host's findings first."""

import pytest

from gristmill.model import Limits
from gristmill.sandbox.pool.template_process import Exit
from gristmill.sandbox.run.frames import Done
from gristmill.sandbox.run.verdict import Ending, how, judge


def done(error: str | None = None, limit: str | None = None, result: object = None) -> Ending:
    return Ending(done=Done(result, error, "ValueError" if error else None, limit))


@pytest.mark.parametrize(
    ("ending", "out_of_memory", "status", "limit"),
    [
        (done(), False, "ok", None),
        (done("ValueError: x"), False, "failed", None),
        (done("MemoryError", "memory_mb"), False, "limited", "memory_mb"),
        (done("x", "made_up"), False, "failed", None),
        (done("x", "seconds"), False, "failed", None),
        (done(None, "memory_mb"), False, "ok", None),
        (done(None, "result_bytes", "too much"), False, "limited", "result_bytes"),
        (Ending(limit="seconds"), False, "limited", "seconds"),
        (Ending(done=Done(1, None, None, None), limit="seconds"), False, "limited", "seconds"),
        (Ending(crash="the process was killed by SIGKILL"), True, "limited", "memory_mb"),
        (Ending(crash="the process was killed by SIGKILL"), False, "crashed", None),
        (Ending(crash="the process was killed by SIGXCPU"), False, "limited", "cpu_seconds"),
    ],
)
def test_the_host_outranks_the_guest(ending: Ending, out_of_memory: bool, status: str, limit: str | None) -> None:
    verdict = judge(ending, Limits(), out_of_memory=out_of_memory)
    assert (verdict.status, verdict.limit, verdict.error is None) == (status, limit, status == "ok")


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exit code 0"), (7, "exit code 7"), (-11, "SIGSEGV"), (139, "SIGSEGV"), (-63, "signal 63")],
)
def test_an_end_in_words(status: int, words: str) -> None:
    assert words in how(Exit(status=status, cpu_seconds=0, rss_bytes=0))
