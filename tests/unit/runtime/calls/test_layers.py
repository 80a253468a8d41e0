"""What every call passes, one layer at a time and in order."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gristmill.catalog.types.schema_checker import SchemaChecker
from gristmill.config.tree import Config
from gristmill.errors import CallRefused, NotFound, ToolFailed, UnknownTool
from gristmill.model import Execution, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.answer_discovery import NOTHING_FOUND, AnswerDiscovery
from gristmill.runtime.calls.check_arguments import CheckArguments
from gristmill.runtime.tools.discovery import Discovery
from gristmill.runtime.tools.tool_library import ToolLibrary
from gristmill.testing import fake_runtime
from gristmill.upstream.base import Upstreams

FIND = Tool(
    server="crm",
    name="find-user",
    input_schema={"properties": {"query": {"type": "string"}}, "required": ["query"], "additionalProperties": False},
)


def find(key: str) -> Tool:
    if key in ("crm.find-user", "crm.find_user"):
        return FIND
    raise UnknownTool("no")


async def echo(call: ToolCall) -> ToolResult:
    return ToolResult(value=[call.tool, dict(call.arguments)])


def through(layer: Any, tool: str, **arguments: Any) -> Any:
    return asyncio.run(layer(ToolCall(id=1, tool=tool, arguments=arguments), echo)).value


def test_the_order_of_the_layers(tmp_path: Path) -> None:
    async def names(**sections: Any) -> list[str]:
        async with fake_runtime(Config.model_validate({"store": {"path": tmp_path}, **sections})) as runtime:
            rooms = runtime._rooms  # pyright: ignore[reportPrivateUsage]
            run = await rooms.intake.begin_run(Execution(id="x", code=""))
            return [type(layer).__name__ for layer in rooms.broker.layers(run, rooms.recorder.open_execution(run))]

    plain = [
        "RecordCalls",
        "CleanErrors",
        "ChangeSessionOnce",
        "AnswerDiscovery",
        "UseProperNames",
        "CheckArguments",
        "QuotaLayer",
        "DecideCall",
        "ReplayCalls",
        "ReuseAnswers",
        "LearnFromCalls",
        "SaveMedia",
        "SendAsDecided",
    ]
    assert asyncio.run(names(mask={"mode": "off"})) == plain
    with_all = [*plain[:2], "InheritLabels", *plain[2:7], "WatchFlows", "HoldBackChanged", *plain[7:-2], "MaskLayer", *plain[-2:]]
    sections = {"mask": {"mode": "full"}, "flows": {"deny": ["a -> b"]}, "catalog": {"quarantine": "refuse"}}
    assert asyncio.run(names(**sections)) == with_all


def test_good_arguments_pass_under_the_tools_own_name() -> None:
    assert through(CheckArguments(find, SchemaChecker()), "crm.find_user", query="a") == ["crm.find-user", {"query": "a"}]


def test_a_bad_argument_is_named_with_what_was_given_and_meant() -> None:
    with pytest.raises(CallRefused) as refused:
        through(CheckArguments(find, SchemaChecker()), "crm.find-user", querry="a")
    assert refused.value.rule == "call.arguments"
    assert refused.value.message.startswith("crm.find-user: ")
    assert 'querry: got "a" (string)' in refused.value.message
    assert "did you mean 'query'?" in refused.value.message


def test_a_tool_that_is_not_listed_yet_is_left_to_its_server() -> None:
    assert through(CheckArguments(find, SchemaChecker()), "new.tool", x=1) == ["new.tool", {"x": 1}]


@pytest.fixture
def answers(tmp_path: Path) -> AnswerDiscovery:
    upstreams = Upstreams(())
    return AnswerDiscovery(Discovery(upstreams, ToolLibrary(upstreams, tmp_path)))


def test_questions_are_answered_without_an_upstream(answers: AnswerDiscovery) -> None:
    assert through(answers, "gristmill.list_servers") == []
    assert through(answers, "gristmill.search_tools", query="x") == {"tools": [], "text": NOTHING_FOUND}
    assert through(answers, "crm.find", q=1) == ["crm.find", {"q": 1}]


def test_bad_questions_are_errors_that_help(answers: AnswerDiscovery) -> None:
    with pytest.raises(UnknownTool, match="did you mean search_tools"):
        through(answers, "gristmill.search_tool", query="x")
    with pytest.raises(ToolFailed, match="detail_level"):
        through(answers, "gristmill.search_tools", query="x", detail_level="everything")
    with pytest.raises(NotFound, match="none is configured"):
        through(answers, "gristmill.list_tools", server="crm")
