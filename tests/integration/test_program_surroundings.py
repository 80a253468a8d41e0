"""What a program may rely on as in any Python: its own CPU time, a loop, exit handlers, its arguments, text that arrives whole."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.errors import Refused

BURN = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"


def echo(a: Any = None) -> Any:
    """Returns what it is given."""
    return a


def measure(text: str = "") -> int:
    """Returns the length of a text."""
    return len(text)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingRuntime]:
    sections: dict[str, Any] = {
        "store": {"path": tmp_path_factory.mktemp("surroundings")},
        "mask": {"mode": "off"},
        "sandbox": {"limits": {"seconds": 30, "call_bytes": 40_000_000}},
    }
    with BlockingRuntime(Config.model_validate(sections), tools={"t.echo": echo, "t.measure": measure}) as opened:
        yield opened


@pytest.mark.requirement("T60")
def test_cpu_seconds_are_counted_for_each_run_of_a_session(runtime: BlockingRuntime) -> None:
    limits = {"cpu_seconds": 1}
    runtime.execute("runs = 0", session="cpu", limits=limits)
    for number in range(1, 5):
        outcome = runtime.execute(BURN.format(seconds=0.5) + "runs += 1\nruns", session="cpu", limits=limits)
        assert (outcome.status, outcome.result, outcome.state) == ("ok", number, "kept"), outcome
    over = runtime.execute(BURN.format(seconds=20), session="cpu", limits=limits)
    assert (over.status, over.limit) == ("limited", "cpu_seconds")


@pytest.mark.requirement("T60")
def test_cpu_time_of_children_counts_for_the_run_that_had_them(runtime: BlockingRuntime) -> None:
    burn_in_child = f"import os\nif os.fork() == 0:\n    exec({BURN.format(seconds=0.6)!r})\n    os._exit(0)\nos.wait()[1]"
    for _ in range(3):
        outcome = runtime.execute(burn_in_child, session="children", limits={"cpu_seconds": 1})
        assert (outcome.status, outcome.result) == ("ok", 0), outcome


def test_another_cpu_limit_keeps_the_variables_of_a_session(runtime: BlockingRuntime) -> None:
    runtime.execute("x = 5", session="limits", limits={"cpu_seconds": 2})
    outcome = runtime.execute("x", session="limits", limits={"cpu_seconds": 3})
    assert (outcome.result, outcome.state) == (5, "kept")


@pytest.mark.parametrize("session", [None, "loops"])
def test_a_program_can_ask_for_the_event_loop(runtime: BlockingRuntime, session: str | None) -> None:
    code = "import asyncio\nloop = asyncio.get_event_loop()\nloop.run_until_complete(asyncio.sleep(0, 'slept'))"
    for addition in ("", "", "loop.close()", "", "asyncio.run(asyncio.sleep(0))", ""):
        outcome = runtime.execute(f"{code}\n{addition}" if addition else code, session=session)
        assert outcome.status == "ok", outcome
        assert outcome.result == ("slept" if not addition else None)


@pytest.mark.requirement("T61")
def test_an_argument_up_to_call_bytes_arrives_and_a_longer_one_is_that_calls_error(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("from servers import t\nt.measure(text='x' * 30_000_000)")
    assert (outcome.status, outcome.result) == ("ok", 30_000_000), outcome
    outcome = runtime.execute("""
from servers import t
try:
    t.measure(text='x' * 50_000_000)
except Exception as error:
    answer = error.code
[answer, t.measure(text='after')]""")
    assert (outcome.status, outcome.result) == ("ok", ["limit.call_bytes", 5]), outcome


def test_a_lone_surrogate_is_an_error_that_says_where(runtime: BlockingRuntime) -> None:
    argument = runtime.execute("from servers import t\nt.echo(a={'rows': ['fine', 'b\\udc80']})")
    assert (argument.status, argument.error_type) == ("failed", "ValueError")
    assert "t.echo at ['a']['rows'][1] " in (argument.error or "")
    assert "U+DC80) at position 1" in (argument.error or "")
    result = runtime.execute("{'names': ['a', '\\udcff']}")
    assert (result.status, result.result, result.error_type) == ("failed", None, "ValueError")
    assert "the result['names'][1] " in (result.error or "")
    key = runtime.execute("{'\\ud800': 1}")
    assert "a key of the result" in (key.error or "")


def test_a_lone_surrogate_in_output_and_errors_is_shown_as_its_escape(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("print('a\\udc80')\nraise ValueError('b\\udc81')")
    assert outcome.output == "a\\udc80\n"
    assert (outcome.error or "").endswith("ValueError: b\\udc81")


def test_asking_for_a_skill_that_cannot_exist_is_no_error(runtime: BlockingRuntime) -> None:
    names = ["X", "CamelCase", "x" * 100, "é", "not_there", "_hidden"]
    outcome = runtime.execute(f"import skills\n[hasattr(skills, name) for name in {names!r}]")
    assert (outcome.status, outcome.result) == ("ok", [False] * len(names)), outcome
    outcome = runtime.execute("try:\n    import skills.X\nexcept ImportError as error:\n    answer = str(error)\nanswer")
    assert "no skill can have the name 'X'" in outcome.result


def test_of_eight_forks_to_one_name_one_succeeds_and_nothing_leaks(runtime: BlockingRuntime) -> None:
    def fork(copy: str) -> str:
        try:
            runtime.fork_session("origin", copy)
        except Refused as refused:
            return str(refused.rule)
        return "forked"

    live: list[int] = []
    for copy in ("copy-1", "copy-2", "copy-3", "copy-4"):
        runtime.execute("x = 7", session="origin")
        with ThreadPoolExecutor(8) as threads:
            answers = sorted(threads.map(fork, [copy] * 8))
        assert answers == ["forked", *["session.exists"] * 7]
        assert runtime.execute("x", session=copy).result == 7
        pool = runtime._opened_runtime()._rooms.pool  # pyright: ignore[reportPrivateUsage]
        live.append(pool.states()["kept"])
        for name in (copy, "origin"):
            runtime.drop_session(name)
    assert live == [live[0]] * 4


def test_exit_handlers_run_at_the_end_of_a_program_without_a_session(runtime: BlockingRuntime) -> None:
    code = """
import atexit
from servers import t
atexit.register(lambda: print("bye", t.measure(text="abc")))
atexit.register(print, "first")
"the result"
"""
    outcome = runtime.execute(code)
    assert (outcome.result, outcome.output) == ("the result", "first\nbye 3\n")
    endless = "import atexit\n@atexit.register\ndef burn():\n    while True: pass"
    assert runtime.execute(endless, limits={"seconds": 0.3}).limit == "seconds"


def test_a_program_finds_no_arguments_of_ours(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("import argparse, sys\n[sys.argv, sys.orig_argv[1:], vars(argparse.ArgumentParser().parse_args())]")
    assert outcome.result == [["program.py"], ["program.py"], {}]


def test_the_builtins_hold_no_exceptions_of_ours(runtime: BlockingRuntime) -> None:
    found = "[name for name, value in vars(__import__('builtins')).items() if isinstance(value, type) and value.__module__ != 'builtins']"
    assert runtime.execute(found).result == ["__loader__"]
    assert runtime.execute("if True:\n    return 5").result == 5


def test_the_users_and_groups_that_every_system_has_have_names(runtime: BlockingRuntime) -> None:
    code = "import grp, pwd\n[[pwd.getpwuid(n).pw_name, grp.getgrgid(n).gr_name] for n in (0, 1000, 65534)]"
    assert runtime.execute(code).result == [["root", "root"], ["agent", "agent"], ["nobody", "nogroup"]]
