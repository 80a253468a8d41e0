"""How a run ended: the host's findings first."""

import pytest

from gristmill.model import Limits
from gristmill.sandbox.run.frames import DoneFrame
from gristmill.sandbox.run.verdict import ChildExit, RunEnding, describe_exit, judge_ending


def done(error: str | None = None, limit: str | None = None, result: object = None) -> RunEnding:
    return RunEnding(done=DoneFrame("", result, error, "ValueError" if error else None, limit))


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
        (RunEnding(limit="seconds"), False, "limited", "seconds"),
        (RunEnding(done=DoneFrame("", 1, None, None, None), limit="seconds"), False, "limited", "seconds"),
        (RunEnding(crash="the process was killed by SIGKILL"), True, "limited", "memory_mb"),
        (RunEnding(crash="the process was killed by SIGKILL"), False, "crashed", None),
        (RunEnding(crash="the process was killed by SIGXCPU"), False, "limited", "cpu_seconds"),
    ],
)
def test_the_host_outranks_the_guest(ending: RunEnding, out_of_memory: bool, status: str, limit: str | None) -> None:
    verdict = judge_ending(ending, Limits(), out_of_memory=out_of_memory)
    assert (verdict.status, verdict.limit, verdict.error is None) == (status, limit, status == "ok")


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exit code 0"), (7, "exit code 7"), (-11, "SIGSEGV"), (139, "SIGSEGV"), (-63, "signal 63")],
)
def test_an_end_in_words(status: int, words: str) -> None:
    assert words in describe_exit(ChildExit(status=status, cpu_seconds=0, rss_bytes=0))
