"""The channel: every byte from the guest is hostile. The host survives all of it and other runs never notice."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gristmill import Outcome
from gristmill.sandbox.run import frames as bridge
from tests.attack.guests import RAW, harmless, loop_of
from tests.attack.wall import Wall, everything, opened

calls: list[dict[str, Any]] = []
"""What reached the tool, whatever the guest did."""


def record(
    a: Any = None, n: Any = None, who: Any = None, data: Any = None, py: Any = None, o: Any = None, session: Any = None,
    execution: Any = None, tenant: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Takes whatever the guests below send, and remembers what was given."""
    calls.append({name: value for name, value in locals().items() if value is not None})
    return {"seen": len(calls)}


def big(size: int = 1_000_000) -> str:
    return "x" * size


async def never() -> None:
    await asyncio.sleep(3600)


left: list[int] = []
"""Which calls reached the tool below."""


async def slow(n: int = 0) -> int:
    """Is asked more often at once than the gateway lets through: most calls wait."""
    left.append(n)
    await asyncio.sleep(0.02)
    return n


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wall]:
    tools = {"t.record": record, "t.big": big, "t.never": never, "t.slow": slow}
    limits = {"seconds": 20, "calls": 200, "call_bytes": 20_000_000}
    with opened(tmp_path_factory.mktemp("channel"), "namespaces", tools, limits=limits) as wall:
        yield wall


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    calls.clear()


VIOLATIONS = {
    "huge_length": "raw.sendall(b'\\xff\\xff\\xff\\xff')",
    "length_over_the_limit": "raw.sendall(struct.pack('<I', 1 << 26) + b'x' * 100000)",
    "garbage": "raw.sendall(frame(os.urandom(1000)))",
    "empty_frame": "raw.sendall(frame(b''))",
    "not_json": 'send(b\'["call", "NONCE", 1, \')',
    "not_an_array": 'send(b\'{"type": "done"}\')',
    "unknown_tag": "send(['exec', 'rm'])",
    "host_tag": "send(['run', '1', {}, 1])",
    "value_tag": "send(['value', 1, 2])",
    "deep_nesting": "send(b'[\"call\",\"NONCE\",1,\"t.record\",{\"a\":' + b'[' * 100000 + b']' * 100000 + b'},[]]')",
    "nan": 'send(b\'["call","NONCE",1,"t.record",{"a":NaN},[]]\')',
    "infinity": 'send(b\'["call","NONCE",1,"t.record",{"a":Infinity},[]]\')',
    "bad_utf8": 'send(b\'["call","NONCE",1,"t.record",{"a":"\\xff\\xfe"},[]]\')',
    "trailing": 'send(b\'["call","NONCE",1,"t.record",{},[]] []\')',
    "too_many_fields": "send(['call', 1, 't.record', {}, [], 'more'])",
    "too_few_fields": "send(['call', 1])",
    "wrong_types": "send(['call', '1', 5, [], {}])",
    "tool_not_text": "send(['call', 1, None, {}, []])",
    "float_id": "send(['call', 1.5, 't.record', {}, []])",
    "bool_id": "send(['call', True, 't.record', {}, []])",
    "second_ready": "send(['ready', 1])",
    "without_nonce": 'send(b\'["call", 1, "t.record", {}, []]\')',
    "another_nonce": 'send(b\'["call", "0", 1, "t.record", {}, []]\')',
    "begun_again": "send(['begun']); send(['begun'])",
    "unfit_while_running": "send(['unfit', 'output'])",
    "more_abandoned_than_made": "send(*(['abandon', n] for n in range(1000)))",
    "late_failure": "send(['failed', 'sealed badly'])",
    "nul": "send(b'\\0' * 100)",
}


@pytest.mark.requirement("T19", "T20")
@pytest.mark.parametrize("way", VIOLATIONS)
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_a_broken_frame_ends_the_run_and_nothing_else(gateway: Wall, way: str, kept: bool) -> None:
    outcome = gateway.run(RAW + VIOLATIONS[way] + "\nwait_for_end()", session=f"broken-{way}" if kept else None)
    assert outcome.status == "crashed", outcome
    assert "protocol violation" in (outcome.error or "")
    assert calls == []
    harmless(gateway)


@pytest.mark.requirement("T20")
def test_a_truncated_frame_keeps_nobody_waiting(gateway: Wall) -> None:
    outcome = gateway.run(RAW + "raw.sendall(struct.pack('<I', 1000) + b'[\"call\"')\nos._exit(0)")
    assert outcome.status == "crashed"
    outcome = gateway.run(RAW + "raw.sendall(struct.pack('<I', 1000) + b'[\"call\"')\nwait_for_end()", limits={"seconds": 0.3})
    assert outcome.limit == "seconds"
    harmless(gateway)


@pytest.mark.requirement("T20")
def test_a_frame_byte_by_byte_is_still_one_frame(gateway: Wall) -> None:
    outcome = gateway.run(
        RAW + "for byte in frame(call(7, arguments={'a': 1})): raw.sendall(bytes([byte]))\nraw.recv(1000).decode()"
    )
    assert calls == [{"a": 1}]
    assert outcome.status in ("ok", "crashed")


@pytest.mark.requirement("T20")
def test_a_hundred_megabytes_of_result_meet_the_frame_limit_not_the_hosts_memory(gateway: Wall) -> None:
    before = _resident_mb()
    outcome = gateway.run(RAW + "raw.sendall(struct.pack('<I', 100 << 20))\nfor _ in range(100): raw.sendall(bytes(1 << 20))")
    assert outcome.status == "crashed"
    assert _resident_mb() - before < 60
    harmless(gateway)


@pytest.mark.requirement("T20", "T25")
@pytest.mark.parametrize("part", ["result", "error", "error_type"])
def test_the_host_itself_keeps_the_result_limit(gateway: Wall, part: str) -> None:
    forged = {
        "result": "['done', 'x' * 5_000_000, None, None, None]",
        "error": "['done', None, 'x' * 5_000_000, 'E', None]",
        "error_type": "['done', None, 'e', 'x' * 5_000_000, None]",
    }[part]
    outcome = gateway.run(RAW + f"send({forged})\nwait_for_end()", limits={"result_bytes": 10_000})
    assert len(everything(outcome)) + len(outcome.error_type or "") < 200_000
    harmless(gateway)


@pytest.mark.requirement("T25")
def test_a_forged_end_is_only_a_value_and_cannot_claim_what_the_host_measures(gateway: Wall) -> None:
    outcome = gateway.run(
        RAW
        + "send(call(1), call(2))\nraw.recv(10)\nsend(['done', {'status': 'ok', 'calls': 0}, None, None, None])\nwait_for_end()"
    )
    assert outcome.status == "ok"
    assert outcome.result == {"status": "ok", "calls": 0}
    assert outcome.tools_called == ("t.record",)
    assert outcome.isolation == "namespaces"
    forged = RAW + "send(['done', None, 'boom', 'E', values['limit']])\nwait_for_end()"
    for limit in ("seconds", "cpu_seconds", "isolation", "nonsense", ""):
        outcome = gateway.run(f"values = {{'limit': {limit!r}}}\n" + forged)
        assert (outcome.status, outcome.limit) == ("failed", None)


@pytest.mark.requirement("T25")
def test_a_failed_run_cannot_be_told_as_a_success_after_the_host_ended_it(gateway: Wall) -> None:
    code = RAW + "import signal\ntime.sleep(0.5)\nsend(['done', 'fine', None, None, None])\nwait_for_end()"
    outcome = gateway.run(code, limits={"seconds": 0.2})
    assert (outcome.status, outcome.limit, outcome.result) == ("limited", "seconds", None)


@pytest.mark.requirement("T19")
def test_duplicate_keys_mean_one_thing_only(gateway: Wall) -> None:
    gateway.run(RAW + 'send(b\'["call","NONCE",1,"t.record",{"a":1,"a":2,"\\\\u0061":3},[]]\')\nraw.recv(100)')
    assert calls == [{"a": 3}]


TRICKS = ["t.record ", " t.record", "t..record", "t.record\0", "t.rec\u043erd", "t.record\n", "\uff54.record",
          "t.__class__", "t", "", ".", "t.record.", "\ufefft.record", "t.reco\u0301rd", "../t.record", "t.record()", "*"]  # fmt: skip


@pytest.mark.requirement("T19")
def test_a_tools_name_is_matched_by_its_letters_and_nothing_else(gateway: Wall) -> None:
    outcome = gateway.run(f"""
from mcp_client import call_mcp_tool
answers = []
for name in {TRICKS!r}:
    try:
        answers.append([name, call_mcp_tool(name, {{}})])
    except Exception as error:
        assert error.code == "not_found.tool", error.code
answers
""")
    assert outcome.result == []
    assert calls == []


@pytest.mark.requirement("T20")
@pytest.mark.parametrize(
    "number", ["2**53", "2**63", "2**64", "2**70", "-2**63", "-2**70", "10**300", "10**5000", "1e308", "5e-324"]
)
def test_odd_numbers_never_break_the_host(gateway: Wall, number: str) -> None:
    code = "import sys\nsys.set_int_max_str_digits(0)\n"
    gateway.run(f"{RAW}{code}send(call(5, arguments={{'a': {number}}}))\nraw.recv(100)\nos._exit(0)")
    for seen in calls:
        assert isinstance(seen["a"], int | float)
    harmless(gateway)


@pytest.mark.requirement("T20", "T21")
@pytest.mark.parametrize("number", [0, -1, 2**63, 2**64, 2**70, -(2**70)])
@pytest.mark.parametrize("tool", ["t.record", "t.nothing"])
def test_an_odd_call_id_never_breaks_the_host(gateway: Wall, number: int, tool: str) -> None:
    problems: list[dict[str, Any]] = []
    loop = loop_of(gateway)
    loop.set_exception_handler(lambda _, context: problems.append(context))
    try:
        gateway.run(RAW + f"send(call({number}, {tool!r}))\ntime.sleep(0.1)\nos._exit(0)")
        gateway.run(
            RAW + f"send(*[call({number}, {tool!r}) for _ in range(150)])\ntime.sleep(0.1)\nos._exit(0)", limits={"calls": 10}
        )
        harmless(gateway)
    finally:
        loop.set_exception_handler(None)
    assert problems == []


@pytest.mark.requirement("T21")
def test_a_replayed_id_is_a_new_call_with_a_number_of_the_hosts(gateway: Wall) -> None:
    events: list[Any] = []
    gateway.runtime.execute(
        RAW + "send(call(1), call(1), call(1))\n[raw.recv(65536) for _ in range(1)]\ntime.sleep(0.2)\nos._exit(0)",
        emit=events.append,
    )
    started = [event.call for event in events if type(event).__name__ == "CallStarted"]
    assert started == [1, 2, 3]
    assert len(calls) == 3


@pytest.mark.requirement("T21")
def test_a_call_after_the_end_never_reaches_the_tool(gateway: Wall) -> None:
    for _ in range(20):
        gateway.run(RAW + "send(['done', 1, None, None, None], call(1), call(2))\nwait_for_end()")
    assert calls == []
    harmless(gateway)


HASTY_ENDS = {
    "forged_end": "send(['done', 'over', None, None, None])\nwait_for_end()",
    "true_end": "'over'",
    "exit": "os._exit(0)",
    "violation": "send(['exec'])\nwait_for_end()",
}


@pytest.mark.requirement("T54")
@pytest.mark.parametrize("ids", ["unlike", "alike"])
@pytest.mark.parametrize("end", HASTY_ENDS)
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_no_call_that_waited_leaves_after_the_end(gateway: Wall, end: str, ids: str, kept: bool) -> None:
    session = f"hasty-{end}-{ids}" if kept else None
    left.clear()
    number = "n + 1000" if ids == "unlike" else "1000"
    outcome = gateway.run(
        RAW + f"send(*(call({number}, 't.slow', {{'n': n}}) for n in range(150)))\n{HASTY_ENDS[end]}", session=session
    )
    at_the_end = list(left)
    for _ in range(10):
        harmless(gateway)  # as long as some of the waiting calls would have taken
    assert left == at_the_end
    assert len(left) < 150  # more than may be under way at the same time
    if ids == "alike":
        assert (outcome.status, "the id of another one that is open" in (outcome.error or "")) == ("crashed", True), outcome
    assert _pending_calls(gateway) == 0


FORGED = """
import threading
def forge():
    mine = nonce
    while True:
        if channel.nonce not in (mine, None):  # the program of this frame has ended, and another runs
            for _ in range(20): send(['done', 'forged', None, None, None])
            return
        time.sleep(0)
threading.Thread(target=forge, daemon=True).start()
'own'
"""


@pytest.mark.requirement("T55")
def test_a_late_end_of_one_execution_never_counts_for_the_next(gateway: Wall) -> None:
    for round_ in range(10):
        assert gateway.run(RAW + FORGED, session="forger").result == "own"
        for number in range(2):
            outcome = gateway.run(f"import time\ntime.sleep(0.02)\n{round_} * 10 + {number}", session="forger")
            assert (outcome.status, outcome.result) == ("ok", round_ * 10 + number), outcome


@pytest.mark.requirement("T55")
def test_a_program_that_forges_its_end_does_not_put_the_next_ones_a_run_behind(gateway: Wall) -> None:
    for number in range(10):
        forged = gateway.run(RAW + f"send(['done', 'forged', None, None, None])\n{number}", session="behind")
        assert forged.result == "forged"
        outcome = gateway.run(f"{number} * 7", session="behind")
        assert (outcome.status, outcome.result) == ("ok", number * 7), outcome


@pytest.mark.requirement("T55")
def test_a_flood_of_frames_of_an_earlier_execution_ends_the_session_and_the_next_program_is_told(gateway: Wall) -> None:
    gateway.run(RAW + FORGED.replace("range(20)", "range(100_000)"), session="flood")
    outcomes = [gateway.run("import time\ntime.sleep(0.05)\n6 * 7", session="flood") for _ in range(3)]
    for outcome in outcomes:
        assert outcome.status == "ok" or "a message of another execution" in (outcome.error or ""), outcome
    assert (outcomes[-1].status, outcomes[-1].result) == ("ok", 42)


@pytest.mark.requirement("T21")
def test_a_call_between_two_runs_of_a_session_never_reaches_the_tool(gateway: Wall) -> None:
    code = RAW + "import threading\nthreading.Thread(target=lambda: (time.sleep(0.3), send(call(1))), daemon=True).start()\n1"
    assert gateway.run(code, session="late").result == 1
    threading.Event().wait(0.8)
    assert calls == []
    assert gateway.run("1 + 1", session="late").result == 2


@pytest.mark.requirement("T21")
def test_a_flood_of_calls_is_ended_at_the_limit(gateway: Wall) -> None:
    outcome = gateway.run(RAW + "n = 0\nwhile True:\n    n += 1\n    send(call(n))", limits={"calls": 50})
    assert (outcome.status, outcome.limit) == ("limited", "calls")
    assert len(calls) <= 50
    harmless(gateway)


@pytest.mark.requirement("T20", "T21")
def test_a_guest_that_never_reads_its_answers_does_not_fill_the_host(gateway: Wall) -> None:
    before = _resident_mb()
    outcome = gateway.run(RAW + "for n in range(200): send(call(n, 't.big'))\nwait_for_end()", limits={"seconds": 2})
    assert outcome.status in ("limited", "crashed")
    assert _resident_mb() - before < 150
    harmless(gateway)


@pytest.mark.requirement("T21")
def test_calls_still_under_way_are_cancelled_with_their_run(gateway: Wall) -> None:
    outcome = gateway.run(RAW + "send(*[call(n, 't.never') for n in range(50)])\ntime.sleep(0.2)\nos._exit(0)")
    assert outcome.status == "crashed"
    assert _pending_calls(gateway) == 0


@pytest.mark.requirement("T20")
def test_descriptors_sent_over_the_channel_do_not_pile_up_in_the_host(gateway: Wall) -> None:
    before = len(os.listdir("/proc/self/fd"))
    code = (
        RAW
        + """
import array
fds = array.array("i", [os.open("/dev/null", os.O_RDONLY) for _ in range(100)])
for n in range(50):
    try:
        raw.sendmsg([frame(call(n))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    except OSError:
        break
time.sleep(0.3)
os._exit(0)
"""
    )
    gateway.run(code)
    harmless(gateway)
    assert len(os.listdir("/proc/self/fd")) < before + 30


@pytest.mark.requirement("T22")
def test_a_frame_cannot_speak_for_another_run_or_session(gateway: Wall) -> None:
    seen: list[Any] = []
    gateway.runtime.execute(
        RAW + "send(call(1, arguments={'session': 'victim', 'execution': 'x', 'tenant': 'y'}))\nraw.recv(100)\nos._exit(0)",
        session="thief", emit=seen.append,
    )  # fmt: skip
    assert calls == [{"session": "victim", "execution": "x", "tenant": "y"}]  # data of the tool, and nothing else
    assert len({event.execution for event in seen}) == 1
    assert "victim" not in gateway.runtime._opened_runtime()._rooms.interpreters.names  # pyright: ignore[reportPrivateUsage]


@pytest.mark.requirement("T23")
def test_no_code_of_the_gateway_unpickles_or_evaluates() -> None:
    source = Path(bridge.__file__).parents[2]
    banned = (
        "import pickle",
        "import marshal",
        "import shelve",
        "yaml.load(",
        "eval(",
        "exec(",
        "__import__(",
        "import dill",
        "jsonpickle",
    )
    found = [
        f"{path.relative_to(source)}: {word}"
        for path in sorted(source.rglob("*.py"))
        if "guest" not in path.relative_to(source).parts  # the guest runs the agent's code: executing it is its purpose
        for word in banned
        # ast.literal_eval reads literals only: it calls nothing, and looks up no name.
        if word in path.read_text().replace("ast.literal_eval(", "")
        and not (path.name == "selfcheck.py" and word == "__import__(")
    ]
    assert found == []


@pytest.mark.requirement("T23")
def test_a_pickled_argument_stays_a_string(gateway: Wall) -> None:
    payload = "cos\\nsystem\\n(S'touch /tmp/gristmill-owned'\\ntR."
    gateway.run(
        f"from servers import t\nt.record(data={payload!r}, py='__import__(\"os\").system(\"true\")', o={{'py/object': 'os.system'}})"
    )
    assert calls == [{"data": payload, "py": '__import__("os").system("true")', "o": {"py/object": "os.system"}}]


@pytest.mark.requirement("T20")
def test_an_answer_that_no_json_can_hold_is_that_calls_error(tmp_path: Path) -> None:
    def deep() -> Any:
        value: Any = 1
        for _ in range(100_000):
            value = [value]
        return value

    cyclic: list[Any] = []
    cyclic.append(cyclic)
    answers: dict[str, Callable[[], Any]] = {
        "t.huge": lambda: 2**70, "t.nan": lambda: float("nan"), "t.deep": deep, "t.cyclic": lambda: cyclic, "t.object": object,
        "t.surrogate": lambda: "\ud800", "t.keys": lambda: {(1, 2): 3}, "t.bytes": lambda: b"\xff",
    }  # fmt: skip
    problems: list[Any] = []
    with opened(tmp_path, "namespaces", answers) as wall:
        loop_of(wall).set_exception_handler(lambda _, context: problems.append(context))
        for name in answers:
            code = f"from mcp_client import call_mcp_tool\ntry:\n    print(repr(call_mcp_tool({name!r})))\nexcept Exception as e:\n    print(e)"
            outcome = wall.run(code, limits={"seconds": 10})
            assert outcome.status == "ok", (name, outcome)
        harmless(wall)
    assert problems == []


@pytest.mark.requirement("T20")
def test_other_runs_go_on_while_one_breaks_the_protocol_again_and_again(gateway: Wall) -> None:
    results: list[Outcome] = []

    def hostile() -> None:
        for way in ("garbage", "huge_length", "deep_nesting", "second_ready"):
            results.append(gateway.run(RAW + VIOLATIONS[way] + "\nwait_for_end()"))

    attackers = [threading.Thread(target=hostile) for _ in range(3)]
    for attacker in attackers:
        attacker.start()
    answers = [gateway.run(f"from servers import t\nt.record(n={n})\n{n}").result for n in range(20)]
    for attacker in attackers:
        attacker.join()
    assert answers == list(range(20))
    assert {outcome.status for outcome in results} == {"crashed"}


@pytest.mark.requirement("T19")
def test_a_fork_of_the_guest_cannot_speak_on_the_channel_by_accident(gateway: Wall) -> None:
    outcome = gateway.run("""
import os
from servers import t
read, write = os.pipe()
if os.fork() == 0:
    try:
        t.record(who="child")
        os.write(write, b"called")
    except Exception as error:
        os.write(write, type(error).__name__.encode())
    os._exit(0)
os.read(read, 100).decode()
""")
    assert outcome.result == "ToolError"
    assert calls == []


def _pending_calls(gateway: Wall) -> int:
    portal = gateway.runtime._portal  # pyright: ignore[reportPrivateUsage]
    assert portal is not None

    async def count() -> int:
        await asyncio.sleep(0.05)
        return sum("_answer" in str(task.get_coro()) for task in asyncio.all_tasks())

    return portal.call(count)


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
