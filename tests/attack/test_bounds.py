"""What a guest sends is bounded where it enters: depth, integers, counts and names, in calls, plans and results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.errors import LimitExceeded
from tests.attack.guests import RAW, harmless
from tests.attack.wall import Wall, opened, reachable

calls: list[dict[str, Any]] = []


def record(a: Any = None, b: Any = None, c: Any = None, d: Any = None, e: Any = None, f: Any = None) -> str:
    """A tool that takes values of any shape."""
    calls.append({name: value for name, value in locals().items() if value is not None})
    return "ok"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wall]:
    with opened(tmp_path_factory.mktemp("bounds"), "namespaces", {"t.record": record}, limits={"seconds": 20}) as wall:
        yield wall


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    calls.clear()


EXCESSES = {
    "deep_argument": "value = 1\nfor _ in range(101): value = [value]\nsend(call(1, arguments={'a': value}))",
    "deep_object": "value = 1\nfor _ in range(450): value = {'k': value}\nsend(call(1, arguments={'a': value}))",
    "deep_position": "value = 1\nfor _ in range(900): value = [value]\nsend(call(1, positional=[value]))",
    "deep_result": "value = 1\nfor _ in range(101): value = [value]\nsend(['done', value, None, None, None])",
    "long_integer": "send(call(1, arguments={'a': [10 ** 4_000]}))",
    "integer_of_65_bits": "send(call(1, arguments={'a': 2 ** 64}))",
    "negative_integer": "send(call(1, arguments={'a': -2 ** 63 - 1}))",
    "integer_in_result": "send(['done', {'a': 10 ** 30}, None, None, None])",
    "call_id": "send(call(2 ** 64))",
    "many_values": "send(b'[\"call\",1,\"t.record\",{\"a\":[' + b'{},' * 1_100_000 + b'1]},[]]')",
    "many_arguments": "send(call(1, arguments={f'a{n}': n for n in range(1_001)}))",
    "many_positions": "send(call(1, positional=[0] * 1_001))",
    "long_name_of_an_argument": "send(call(1, arguments={'a' * 601: 1}))",
    "long_name_of_a_tool": "send(call(1, tool='t.' + 'a' * 600))",
}


@pytest.mark.requirement("T79")
@pytest.mark.parametrize("way", EXCESSES)
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_a_frame_beyond_a_bound_ends_the_run_and_reaches_no_tool(gateway: Wall, way: str, kept: bool) -> None:
    outcome = gateway.run(RAW + EXCESSES[way] + "\nwait_for_end()", session=f"excess-{way}" if kept else None)
    assert outcome.status == "crashed", outcome
    assert "protocol violation" in (outcome.error or "")
    assert calls == []
    harmless(gateway)


HONEST = {
    "deep": ("value = 1\nfor _ in range(101): value = [value]", "nested deeper than 100 levels"),
    "deeper_than_python_encodes": ("value = 1\nfor _ in range(100_000): value = [value]", "nested deeper than 100 levels"),
    "long_integer": ("value = 10 ** 4_000", "does not fit in 64 bits"),
    "nested_integer": ("value = {'x': [1, {'y': -2 ** 63 - 1}]}", "does not fit in 64 bits"),
    "long_text_with_integer": ("value = ['x' * 50_000, 2 ** 64]", "does not fit in 64 bits"),
    "many_values": ("value = [0] * 1_000_001", "more than 1,000,000 values"),
}


@pytest.mark.requirement("T79")
@pytest.mark.parametrize("way", HONEST)
def test_code_is_told_which_bound_its_call_exceeds_and_goes_on(gateway: Wall, way: str) -> None:
    make, said = HONEST[way]
    code = f"""
from servers import t
{make}
try:
    t.record(a=value)
except ValueError as error:
    told = str(error)
t.record(a=1)
told
"""
    outcome = gateway.run(code)
    assert outcome.status == "ok", outcome
    assert said in outcome.result
    assert calls == [{"a": 1}]


@pytest.mark.requirement("T79")
def test_everything_within_the_bounds_reaches_the_tool_as_it_was(gateway: Wall) -> None:
    code = """
from servers import t
value = 1
for _ in range(95): value = [value]
t.record(a=value, b=2 ** 64 - 1, c=-2 ** 63, d="9" * 5_000, e=[0] * 10_000, f={"9" * 40: 1.5})
"""
    assert gateway.run(code).status == "ok"
    (seen,) = calls
    assert (seen["b"], seen["c"], seen["d"], len(seen["e"])) == (2**64 - 1, -(2**63), "9" * 5_000, 10_000)
    assert seen["f"] == {"9" * 40: 1.5}


@pytest.mark.requirement("T86")
@pytest.mark.parametrize("depth", [101, 450, 900])
def test_a_plan_cannot_hold_what_its_approvers_cannot_read(tmp_path: Path, depth: int) -> None:
    reachable(tmp_path)
    settings = {"store": {"path": str(tmp_path)}, "policy": {"ask": ["t.record"]}, "sandbox": {"isolation": "namespaces"}}
    with BlockingRuntime(Config.model_validate(settings), tools={"t.record": record}) as runtime:
        deep = f"value = 1\nfor _ in range({depth}): value = {{'k': value}}\n"
        outcome = runtime.execute(f"{deep}{RAW}send(call(1, arguments={{'a': value}}))\nwait_for_end()")
        assert (outcome.status, outcome.plan) == ("crashed", None)
        value: Any = 1
        for _ in range(depth):
            value = {"k": value}
        with pytest.raises(LimitExceeded, match="nested deeper"):
            runtime.execute("1", context={"a": value})
    assert calls == []
