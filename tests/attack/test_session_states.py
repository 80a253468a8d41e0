"""Sessions: in whatever state a program leaves its interpreter, the session leads on, and it is still until its next program."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gristmill import Outcome
from gristmill.errors import Error
from gristmill.sandbox.jails.jail import Jail
from gristmill.sandbox.linux import process_tree as tree
from tests.attack.guests import RAW
from tests.attack.wall import Wall, opened, wait_until

LIMITS = {"seconds": 4.0}


async def never() -> None:
    """A tool that does not answer."""
    await asyncio.sleep(3600)


def record(a: Any = None) -> Any:
    """A tool that answers at once."""
    return a


TOOLS = {"t.never": never, "t.record": record}


@pytest.fixture(scope="module")
def strong(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wall]:
    with opened(tmp_path_factory.mktemp("states"), "namespaces", TOOLS, limits=LIMITS) as wall:
        yield wall


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory, landlock: Wall) -> Iterator[Wall]:
    assert landlock.level == "landlock"  # it was asked for because it skips where that level cannot be tested
    with opened(tmp_path_factory.mktemp("weak-states"), "landlock", TOOLS, limits=LIMITS) as wall:
        yield wall


@pytest.fixture(params=["strong", "weak"], ids=["namespaces", "landlock"])
def gateway(request: pytest.FixtureRequest) -> Wall:
    return request.getfixturevalue(request.param)


LEFT_IN = {
    # -- threads, processes and loops
    "an_idle_thread_of_asyncio": "import asyncio, time\nawait asyncio.to_thread(time.sleep, 0.001)",
    "a_thread_that_burns": "import threading\ndef burn():\n    while True: pass\nthreading.Thread(target=burn, daemon=True).start()",
    "a_thread_that_holds_the_interpreter": (
        "import sys, threading\nsys.setswitchinterval(100)\n"
        "def burn():\n    while True: pass\nthreading.Thread(target=burn, daemon=True).start()"
    ),
    "a_thread_that_calls_tools": (
        "import threading\nfrom servers import t\ndef calls():\n    while True:\n        try: t.record(a=1)\n"
        "        except Exception: pass\nthreading.Thread(target=calls, daemon=True).start()"
    ),
    "a_thread_that_waits_for_a_call": (
        "import threading\nfrom servers import t\nthread = threading.Thread(target=lambda: t.never(), daemon=True)\nthread.start()"
    ),
    "a_thread_with_an_event_loop": (
        "import asyncio, threading\nfrom servers import t\nasync def forever():\n    await t.record(a=1)\n"
        "    started.set()\n    while True: await asyncio.sleep(0.001)\nstarted = threading.Event()\n"
        "threading.Thread(target=lambda: asyncio.run(forever()), daemon=True).start()\nstarted.wait()"
    ),
    "its_loop_run_by_a_thread": (
        "import asyncio, threading\nawait asyncio.sleep(0)\nloop = asyncio.get_running_loop()\n"
        "threading.Thread(target=loop.run_forever, daemon=True).start()"
    ),
    "a_thread_that_exits": "import sys, threading\nthreading.Thread(target=sys.exit).start()",
    "its_loop_closed": "import asyncio\nawait asyncio.sleep(0)\nloop = asyncio.get_running_loop()\nloop.stop()",
    "a_loop_said_to_run": "import asyncio\nasyncio.events._set_running_loop(asyncio.new_event_loop())",
    "a_task_that_was_not_awaited": "import asyncio\nfrom servers import t\ntask = asyncio.create_task(t.never())\nawait asyncio.sleep(0)",
    "a_child_that_burns": "import os\nif os.fork() == 0:\n    while True: pass",
    "an_orphan_that_burns": (
        "import os\nchild = os.fork()\nif child == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True: pass\n"
        "    os._exit(0)\nos.waitpid(child, 0)"
    ),
    "a_fork_that_returns": "import os\nx = os.fork() and 1",
    # -- the channel
    "a_closed_channel": "import os\nos.close(3)",
    "another_channel": "import os\nos.dup2(os.open('/dev/null', os.O_RDWR), 3)",
    "a_channel_that_does_not_block": "import os\nos.set_blocking(3, False)",
    "half_a_frame": RAW + "raw.sendall(struct.pack('<I', 100) + b'[')",
    "a_forged_end": RAW + "send(['done', 'forged', None, None, None])",
    "a_late_forged_end": (
        RAW + "import threading\nthreading.Timer(0.01, lambda: send(['done', 'forged', None, None, None])).start()"
    ),
    "a_channel_shut_down": RAW + "raw.shutdown(socket.SHUT_RD)",
    # -- signals
    "interrupts_ignored": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    "a_handler_that_raises_when_it_continues": (
        "import signal\ndef fail(*_): raise ValueError\nsignal.signal(signal.SIGCONT, fail)\nsignal.signal(signal.SIGINT, fail)"
    ),
    "signals_blocked": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
    "an_alarm": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)",
    "itself_stopped": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "a_debugger_wanted": "import ctypes\nctypes.CDLL(None).ptrace(0, 0, 0, 0)",
    # -- files and limits
    "its_output_replaced": "import io, sys\nsys.stdout = sys.stderr = io.StringIO()",
    "its_output_closed": "import sys\nsys.stdout.close()\nsys.stderr.close()",
    "its_output_descriptors_closed": "import os\nos.close(1)\nos.close(2)",
    "its_output_descriptors_elsewhere": "import os\nos.dup2(os.open('elsewhere', os.O_CREAT | os.O_WRONLY), 1)",
    "its_input_gone": "import os, sys\nsys.stdin = None\nos.close(0)",
    "its_folder_removed": "import os\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')",
    "another_mask": "import os\nos.umask(0o777)",
    "no_descriptors": "import os\ntry:\n    while True: os.dup(0)\nexcept OSError: pass",
    "soft_limits_lowered": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
    "hard_limits_lowered": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "cpu_limited": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
    "memory_filled": "hoard = []\ntry:\n    while True: hoard.append(bytearray(1 << 20))\nexcept MemoryError: pass",
    # -- the interpreter
    "no_garbage_collector": "import gc\ngc.disable()",
    "a_low_recursion_limit": "import sys\nsys.setrecursionlimit(60)",
    "a_trace_function_that_fails": "import sys\ndef trace(*_): raise ValueError\nsys.settrace(trace)",
    "an_exit_handler": "import atexit, os\natexit.register(os._exit, 3)",
    "an_exit": "import sys\nsys.exit(3)",
    "a_hard_exit": "import os\nos._exit(3)",
    "a_crash": "import ctypes\nctypes.string_at(0)",
    "builtins_broken": "import builtins\nbuiltins.len = builtins.isinstance = builtins.type = None",
    "builtins_gone": "import builtins\nvars(builtins).clear()",
    "modules_gone": "import sys\nsys.modules.clear()",
    "its_runner_broken": "import gc\nfor found in gc.get_objects():\n    if type(found).__name__ == 'Runner': found.__dict__.clear()",
    "its_channel_broken": RAW + "channel.__dict__.clear()",
    "forking_replaced": "import os, time\nos.fork = lambda: time.sleep(600)",
    "everything_collected_emptied": "import gc\nfor found in gc.get_objects():\n    if type(found) is dict: found.clear()",
}
KEPT = (
    "an_idle_thread_of_asyncio", "a_thread_that_burns", "a_thread_that_calls_tools", "a_thread_with_an_event_loop",
    "its_loop_run_by_a_thread", "a_thread_that_waits_for_a_call", "a_child_that_burns", "an_orphan_that_burns", "interrupts_ignored",
    "signals_blocked", "an_alarm", "its_output_replaced", "its_output_closed", "its_folder_removed", "another_mask",
    "soft_limits_lowered", "no_garbage_collector", "a_low_recursion_limit", "a_trace_function_that_fails", "an_exit_handler", "an_exit",
    "a_handler_that_raises_when_it_continues", "a_loop_said_to_run", "a_task_that_was_not_awaited",
)  # fmt: skip
"""The states that can be mended: they cost a session no variables."""
WORK = "import asyncio\nprint('works', flush=True)\nawait asyncio.sleep(0)\n6 * 7"


def leads_on(gateway: Wall, session: str) -> Outcome:
    """Runs two more programs in the session, and returns the outcome of the first."""
    after = gateway.run(WORK, session=session)
    assert (after.status, after.result, "works" in after.output) == ("ok", 42, True), after
    gone = [line for line in after.advice if "the variables of this session are gone" in line]
    assert bool(gone) == (after.state == "fresh"), after
    again = gateway.run(WORK, session=session)
    assert (again.status, again.result, again.state) == ("ok", 42, "kept"), again
    return after


@pytest.mark.requirement("T58")
@pytest.mark.parametrize("state", LEFT_IN)
def test_in_whatever_state_a_session_is_left_the_next_program_works(gateway: Wall, state: str) -> None:
    gateway.run("x = 1", session=state)
    gateway.run(LEFT_IN[state], session=state, limits={"seconds": 0.5})
    leads_on(gateway, state)
    gateway.runtime.drop_session(state)


@pytest.mark.requirement("T58", "T56")
@pytest.mark.parametrize("state", LEFT_IN)
def test_in_whatever_state_a_session_is_left_it_can_be_forked_or_says_why_not(strong: Wall, state: str) -> None:
    strong.run("x = 1", session=state)
    strong.run(LEFT_IN[state], session=state, limits={"seconds": 0.5})
    try:
        strong.runtime.fork_session(state, f"{state} branch")
    except Error:  # anything else, a TimeoutError above all, is a defect
        # A thread that the program left behind may read the order instead of the main thread: then the fork is refused.
        assert state not in KEPT or "thread" in state
    else:
        leads_on(strong, f"{state} branch")
        strong.runtime.drop_session(f"{state} branch")
    leads_on(strong, state)
    strong.runtime.drop_session(state)


@pytest.mark.requirement("T58")
@pytest.mark.parametrize("state", KEPT)
def test_a_state_that_can_be_mended_costs_a_session_no_variables(strong: Wall, state: str) -> None:
    strong.run("x = 1", session=state)
    strong.run(LEFT_IN[state], session=state, limits={"seconds": 0.5})
    after = leads_on(strong, state)
    assert after.state == "kept", after
    assert strong.run("x", session=state).result in (1, None)
    strong.runtime.drop_session(state)


# -- waits ------------------------------------------------------------------------------------------------------------------

NO_BRANCH = {
    "sleeps": "import os, time\nos.fork = lambda: time.sleep(600)",
    "burns": "import os\ndef burn():\n    while True: pass\nos.fork = burn",
    "forks_without_end": (
        "import os\nreal = os.fork\ndef bomb():\n    for _ in range(20):\n        if real() == 0:\n            while True: pass\n"
        "    while True: pass\nos.fork = bomb"
    ),
    "says_ready_with_another_nonce": RAW
    + "real = os.fork\ndef lie():\n    child = real()\n    if child == 0:\n        channel.send = lambda *_: None\n    return child\nos.fork = lie",
}


@pytest.mark.requirement("T56", "T57")
@pytest.mark.parametrize("way", NO_BRANCH)
def test_a_session_that_will_not_branch_is_given_up_and_leaves_nothing_running(strong: Wall, way: str) -> None:
    strong.run(NO_BRANCH[way], session=way)
    jail = kept_jail(strong, way)
    with pytest.raises(Error, match=r"did not branch within|could not be forked"):
        strong.runtime.fork_session(way, f"{way} branch")
    assert not jail.alive
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in jail.processes()), "its processes have ended")
    after = leads_on(strong, way)
    assert after.state == "fresh"
    strong.runtime.drop_session(way)


@pytest.mark.requirement("T56")
def test_an_execution_that_may_be_undone_waits_for_its_session_no_longer_than_its_limit(tmp_path: Path) -> None:
    def write(text: str = "") -> str:
        """Writes."""
        return text

    # Calls that need approval make the execution a rehearsal, and a rehearsal branches the session first.
    with opened(tmp_path, "namespaces", {"t.write": write}, concurrency=1) as wall:
        wall.run("x = 1", session="s")
        wall.run(NO_BRANCH["sleeps"], session="s")
        outcome = wall.runtime.execute("from servers import t\n'ran'", session="s", limits={"seconds": 2})
        assert (outcome.status, outcome.result, outcome.state) == ("ok", "ran", "fresh"), outcome
        assert any("did not branch" in line for line in outcome.advice)
        assert wall.run("1 + 1").result == 2  # and its place in the pool is free


# -- between two programs ---------------------------------------------------------------------------------------------------


def kept_jail(wall: Wall, session: str) -> Jail:
    """The interpreter that a session keeps now."""
    kept = wall.runtime._opened_runtime()._rooms.interpreters._by_name  # pyright: ignore[reportPrivateUsage]
    jail = next(found.sandbox for name, found in kept.items() if session in name)
    assert isinstance(jail, Jail)
    return jail


BUSY = {
    "a_thread": LEFT_IN["a_thread_that_burns"],
    "a_hundred_threads": "import threading\ndef burn():\n    while True: pass\n"
    "for _ in range(30): threading.Thread(target=burn, daemon=True).start()",
    "a_child": LEFT_IN["a_child_that_burns"],
    "an_orphan": LEFT_IN["an_orphan_that_burns"],
    "a_child_that_continues_it": (
        "import os, signal\nparent = os.getpid()\nif os.fork() == 0:\n    while True: os.kill(parent, signal.SIGCONT)"
    ),
    "a_thread_that_forks": (
        "import os, threading\ndef breed():\n    while True:\n        try:\n            if os.fork() == 0:\n"
        "                while True: pass\n        except OSError: pass\nthreading.Thread(target=breed, daemon=True).start()"
    ),
    "a_thread_that_continues_it": (
        "import os, signal, threading\ndef go_on():\n    while True: os.kill(os.getpid(), signal.SIGCONT)\n"
        "threading.Thread(target=go_on, daemon=True).start()"
    ),
}


@pytest.mark.requirement("T57")
@pytest.mark.parametrize("way", BUSY)
def test_between_two_programs_a_session_uses_no_cpu(strong: Wall, way: str) -> None:
    strong.run("x = 1", session=way)
    strong.run(BUSY[way], session=way, limits={"seconds": 1})
    jail = kept_jail(strong, way) if any(way in name for name in kept_names(strong)) else None
    if jail is not None:  # otherwise it was given up, which is still, too
        wait_until(lambda: is_still(jail), "every process of the session is stopped, or has ended")
        before = tree.sum_cpu_seconds(jail.processes())
        for _ in range(5):
            strong.run("sum(range(1_000_000))")  # time passes
        assert not jail.alive or (is_still(jail) and tree.sum_cpu_seconds(jail.processes()) == before)
    leads_on(strong, way)
    strong.runtime.drop_session(way)


@pytest.mark.requirement("T57")
def test_a_branch_that_a_program_wakes_is_given_up(strong: Wall) -> None:
    strong.run("x = 1", session="trunk")
    strong.runtime.fork_session("trunk", "twig")
    jail = kept_jail(strong, "twig")
    wait_until(lambda: is_still(jail), "the branch is stopped")
    waking = "import os, signal, time\nwhile True:\n    for pid in range(2, 60):\n        try: os.kill(pid, signal.SIGCONT)\n        except OSError: pass"
    strong.run(waking, session="trunk", limits={"seconds": 1})
    wait_until(lambda: not jail.alive or is_still(jail), "the branch is given up, or stopped again")
    leads_on(strong, "twig")
    for name in ("trunk", "twig"):
        strong.runtime.drop_session(name)


def kept_names(wall: Wall) -> tuple[str, ...]:
    return wall.runtime._opened_runtime()._rooms.interpreters.names  # pyright: ignore[reportPrivateUsage]


def is_still(jail: Jail) -> bool:
    """Returns whether every thread of every process of a session is stopped or has ended."""
    return all(tree.are_threads_stopped(pid) for pid in jail.processes())
