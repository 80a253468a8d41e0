"""The whole surface is small, fixed and the same every time."""

import json
import os
import subprocess
import sys

import pytest

from gristmill.serve.mcp.tools.server_instructions import write_instructions
from gristmill.serve.mcp.tools.tool_surface import DIRECT_CALL_TOOL, TOOLS
from gristmill.shaping.token_counter import load_token_counter


def _tokens(servers: dict[str, list[str]]) -> int:
    shown = [tool.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta", "annotations"}) for tool in TOOLS]
    count = load_token_counter()
    assert count is not None
    return count(json.dumps(shown, separators=(",", ":"))) + count(write_instructions(servers))


def test_the_surface_costs_at_most_400_tokens_with_twenty_servers_of_many_tools() -> None:
    servers = {f"service-{number}": [f"do_thing_{tool}" for tool in range(100)] for number in range(20)}

    assert _tokens(servers) <= 400


def test_the_surface_costs_at_most_400_tokens_whatever_the_servers_are_called() -> None:
    for count in (1, 3, 8, 200):
        assert _tokens({f"S3rvîce_x{number}-{'q7' * 20}": ["zq_x9_tool"] * 50 for number in range(count)}) <= 400


def test_instructions_do_not_depend_on_the_order_of_servers_or_tools() -> None:
    one = {"b": ["y", "x"], "a": ["q"]}
    other = {"a": ["q"], "b": ["x", "y"]}

    assert write_instructions(one) == write_instructions(other)


def test_servers_that_do_not_fit_are_folded_into_one_line() -> None:
    text = write_instructions({f"a-rather-long-name-of-a-server-{number:03}": [] for number in range(50)})

    assert text.splitlines()[-1].startswith("and ")
    assert text.splitlines()[-1].endswith(" more")


def test_tools_are_marked_to_be_loaded_always() -> None:
    assert all((tool.meta or {})["anthropic/alwaysLoad"] is True for tool in TOOLS)


@pytest.mark.parametrize("count", [0, 1, 20, 200])
@pytest.mark.requirement("M1")
def test_the_surface_costs_at_most_400_tokens_with_any_number_of_servers(count: int) -> None:
    assert _tokens({f"server-{number}": [f"tool_{tool}" for tool in range(40)] for number in range(count)}) <= 400


@pytest.mark.requirement("M1")
def test_another_process_shows_the_same_bytes() -> None:
    code = (
        "from gristmill.serve.mcp.tools.tool_surface import TOOLS, DIRECT_CALL_TOOL\n"
        "from gristmill.serve.mcp.tools.server_instructions import write_instructions\n"
        "for tool in (*TOOLS, DIRECT_CALL_TOOL): print(tool.model_dump_json(by_alias=True))\n"
        "print(write_instructions({f's{n}': {f't{n}' for n in range(9)} for n in range(20)}))"
    )
    starts = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }

    assert len(starts) == 1
    assert DIRECT_CALL_TOOL.name.encode() in starts.pop()
