"""The whole surface is small, fixed and the same every time."""

import json
import os
import subprocess
import sys

import pytest

from gristmill.config.tree import Config
from gristmill.runtime.tools.configured_servers import describe_servers
from gristmill.runtime.tools.example_import import choose_example
from gristmill.serve.mcp.tools.server_instructions import LEAD, write_instructions
from gristmill.serve.mcp.tools.tool_surface import DIRECT_CALL_TOOL, TOOLS, build_tools
from gristmill.shaping.token_counter import load_token_counter


def _tokens(servers: dict[str, list[str]]) -> int:
    tools = build_tools(choose_example(servers), masks=True)
    shown = [tool.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta", "annotations"}) for tool in tools]
    count = load_token_counter()
    assert count is not None
    return count(json.dumps(shown, separators=(",", ":"))) + count(write_instructions(servers))


def test_the_surface_costs_at_most_400_tokens_with_twenty_servers_of_many_tools() -> None:
    servers = {f"service-{number}": [f"do_thing_{tool}" for tool in range(100)] for number in range(20)}

    assert _tokens(servers) <= 400


def test_the_surface_costs_at_most_400_tokens_whatever_the_servers_are_called() -> None:
    for count in (1, 3, 8, 200):
        assert _tokens({f"S3rvîce_x{number}-{'q7' * 20}": ["zq_x9_tool"] * 50 for number in range(count)}) <= 400


def test_instructions_do_not_depend_on_the_order_of_servers() -> None:
    one = {"b": ["y", "x"], "a": ["q"]}
    other = {"a": ["q"], "b": ["y", "x"]}

    assert write_instructions(one) == write_instructions(other)


def test_servers_that_do_not_fit_are_counted_and_the_others_come_from_the_whole_alphabet() -> None:
    text = write_instructions({f"{letter}{number}-server": [] for letter in "abcdefghij" for number in range(10)})

    named, more = text.removeprefix(LEAD).rsplit(" and ", 1)
    assert {name.strip()[0] for name in named.split(",")} == set("abcdefghij")
    assert int(more.removesuffix(" more")) + len(named.split(",")) == 100


def test_each_server_has_a_word_that_says_what_it_is_for() -> None:
    servers = {
        "work": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github@1.2.3"]},
        "tickets": {"url": "https://mcp.linear.app/sse"},
        "sums": {"python": "statistics"},
        "own": {"command": "python", "args": ["/home/ann/secret-key/mcp.py", "--token=mcp-7"]},
        "github": {"command": "uvx", "args": ["mcp-server-github"]},
    }

    known = describe_servers(Config.model_validate({"servers": servers}), servers)

    assert write_instructions(known) == f"{LEAD} github, own, sums (statistics), tickets (linear), work (github)"


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
        "print(write_instructions({f's{n}': [f't{n}'] for n in range(20)}))"
    )
    starts = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }

    assert len(starts) == 1
    assert DIRECT_CALL_TOOL.name.encode() in starts.pop()


def test_the_surface_costs_at_most_400_tokens_whatever_the_tools_are_called() -> None:
    for server, tool in (
        ("S3x9q7z4k2j8", "q7w8e9r0t1y"),
        ("x" * 64, "y" * 64),
        ("日本語", "取得"),
        ("a_b_c_d_e_f_g", "get_1_2_3_4_5"),
    ):
        assert (
            _tokens({server: [tool], **{f"service-{number}": [f"do_thing_{n}" for n in range(100)] for number in range(20)}})
            <= 400
        )


def test_the_example_names_a_tool_that_is_connected() -> None:
    described = build_tools(choose_example({"pam": ["add_expense", "get_expenses"], "homeiq": ["detect"]}))[1].description

    assert described is not None
    assert "`from servers.pam import get_expenses`" in described


@pytest.mark.parametrize(
    ("servers", "example"),
    [
        ({}, None),
        ({"pam": []}, "from servers import pam"),
        ({"google-drive": ["getDocument"]}, "from servers.google_drive import getDocument"),
        ({"b": ["get_x"], "a": ["make_x"]}, "from servers.b import get_x"),
        ({"b": ["make_y", "make_x"], "a": []}, "from servers.b import make_x"),
        ({"q7" * 30: ["q7" * 30]}, "from servers.SERVER import tool"),
    ],
)
def test_the_example_is_short_and_prefers_a_tool_that_reads(servers: dict[str, list[str]], example: str | None) -> None:
    assert choose_example(servers) == example


def test_masks_are_explained_where_they_are_on() -> None:
    plain, masked = (build_tools(masks=masks)[1].description or "" for masks in (False, True))

    assert "<EMAIL_x>" in masked
    assert "<" not in plain
