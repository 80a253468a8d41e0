"""A program asks another model: its answer is a value, its budget its own, and its calls stand in the same audit tree."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from gristmill import BlockingRuntime, Outcome
from gristmill.chat.agents.agent_budget import Agent, AskedAgent
from gristmill.chat.agents.offer_agents import offer_agents
from gristmill.errors import ConfigError
from gristmill.ledger.audit.audit_entries import AuditTree
from gristmill.model import Identity
from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelServer
from gristmill.testing.model_answers import ModelRequest
from tests.e2e.chat.open_chat import FUNCTIONS, build_config, run_on

ASK = "from agents import ask\nask('reader', 'what is in row 7?')"
READ = ModelAnswer(
    calls=[ModelCall("execute_code", {"code": "from servers import rows\nrows.read(row=7)"})], input_tokens=900, output_tokens=20
)
SAID = ModelAnswer("It is row 7.", input_tokens=1_000, output_tokens=8)
MAIL = "ann.smith@firm.example"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config = build_config(tmp_path_factory.mktemp("agents"), sandbox={"limits": {"seconds": 60}})
    with BlockingRuntime(config, tools=FUNCTIONS) as opened:
        yield opened


def offer(
    runtime: BlockingRuntime, scripted: ModelServer, told: Callable[[AskedAgent], None] | None = None, **options: Any
) -> None:
    given: dict[str, Any] = {"model": "openai:scripted", "base_url": scripted.openai_url, **options}
    agents = {name: Agent(about=f"the {name}", instructions=f"You are the {name}.", **given) for name in ("reader", "writer")}
    run_on(runtime, offer_agents(runtime.runtime, agents, told=told or (lambda _asked: None)))


def ask(runtime: BlockingRuntime, code: str = ASK, **options: Any) -> Outcome:
    return runtime.execute(code, identity=Identity(tenant="hive", caller="ann"), **options)


def list_tree(tree: AuditTree) -> list[Any]:
    record = tree.entry.record
    return [record.kind, record.tool or record.status, *(list_tree(child) for child in tree.children)]


def test_the_answer_is_a_value_and_its_calls_stand_under_the_execution_that_asked(runtime: BlockingRuntime) -> None:
    costs: list[AskedAgent] = []
    with ModelServer([READ, SAID]) as model:
        offer(runtime, model, costs.append)
        outcome = ask(runtime)

    assert (outcome.status, outcome.result, outcome.tools_called) == ("ok", "It is row 7.", ("agents.ask",))
    assert "You are the reader." in model.requests[0].system
    assert "what is in row 7?" in model.requests[0].last_text
    assert "row 7" in model.requests[1].tool_results[0]
    (cost,) = costs
    assert (cost.agent, cost.parent, cost.is_answered, cost.identity.caller) == ("reader", outcome.id, True, "ann")
    assert (cost.usage.input_tokens, cost.usage.output_tokens, cost.usage.requests) == (1_900, 28, 2)

    async def show() -> AuditTree:
        await runtime.runtime.audit.flush()
        return await runtime.runtime.audit.show(outcome.id, tenant="hive")

    tree = run_on(runtime, show())
    assert list_tree(tree) == [
        "execution", "ok",
        ["execution", "ok", ["call", "rows.read"]],
        ["call", "agents.ask"],
    ]  # fmt: skip
    assert tree.children[0].entry.record.id == cost.executions[0]
    with pytest.raises(Exception, match="no session"):
        runtime.delete_session(str(tree.children[0].entry.record.session), tenant="hive")


def test_an_answer_can_be_json_and_is_asked_for_once_more(runtime: BlockingRuntime) -> None:
    code = "from agents import ask\nask('reader', 'rows?', as_json=True)['rows'] + [3]"
    with ModelServer([ModelAnswer("There are two."), ModelAnswer('```json\n{"rows": [1, 2]}\n```')]) as model:
        offer(runtime, model)
        found = ask(runtime, code)
    with ModelServer([ModelAnswer("There are two."), ModelAnswer("Two.")]) as model:
        offer(runtime, model)
        refused = ask(runtime, code)

    assert (found.status, found.result) == ("ok", [1, 2, 3])
    assert refused.error_type == "ToolError"
    assert "answered with no JSON: 'Two.'" in (refused.error or "")


def test_several_are_asked_at_once(runtime: BlockingRuntime) -> None:
    code = """
import asyncio
from agents import ask
await asyncio.gather(*[ask("reader", f"row {number}") for number in range(4)])
"""
    with ModelServer(lambda request: ModelAnswer(request.last_text.upper())) as model:
        offer(runtime, model)
        outcome = ask(runtime, code)
    assert outcome.result == [f"ROW {number}" for number in range(4)]


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        ({"tokens": 500}, ASK, "has used 920 tokens without an answer, and may use 500"),
        ({}, ASK.replace("7?'", "7?', tokens=600"), "has used 920 tokens without an answer, and may use 600"),
        ({"steps": 2}, ASK, "stopped after 2 steps"),
    ],
)
def test_a_spent_budget_is_an_error_that_names_it(runtime: BlockingRuntime, options: Any, code: str, why: str) -> None:
    costs: list[AskedAgent] = []
    with ModelServer([READ] * 4) as model:
        offer(runtime, model, costs.append, **options)
        outcome = ask(runtime, code)
    assert outcome.error_type == "ToolError"
    assert why in (outcome.error or "")
    assert len(model.requests) == (2 if "steps" in options else 1)
    assert [(cost.is_answered, cost.usage.requests) for cost in costs] == [(False, len(model.requests))]


def answer_below(request: ModelRequest) -> ModelAnswer:
    """Each agent asks the next, until it is told that it is deep enough."""
    if request.tool_results:
        return ModelAnswer(f"<{request.tool_results[0].splitlines()[-1]}>", input_tokens=10, output_tokens=10)
    code = "from agents import ask\ntry:\n    found = ask('reader', 'deeper')\nexcept Exception as error:\n    found = str(error)\nfound"
    return ModelAnswer(calls=[ModelCall("execute_code", {"code": code})], input_tokens=100, output_tokens=100)


def test_agents_ask_agents_but_not_without_end_and_within_the_first_budget(runtime: BlockingRuntime) -> None:
    costs: list[AskedAgent] = []
    with ModelServer(answer_below) as model:
        offer(runtime, model, costs.append)
        deep = ask(runtime)
        offer(runtime, model, costs.append, tokens=380)
        spent = ask(runtime)

    assert "agents ask each other at most 3 deep" in str(deep.result)
    assert [cost.is_answered for cost in costs[:3]] == [True] * 3
    assert costs[1].parent in costs[2].executions, "each stands under the one that asked"
    assert "has used 400 tokens" in (spent.error or ""), "what those below used counts"


def test_a_call_that_needs_approval_is_not_made_on_behalf_of_nobody(runtime: BlockingRuntime) -> None:
    write = ModelAnswer(calls=[ModelCall("execute_code", {"code": "from servers import rows\nrows.write(row=1)"})])
    with ModelServer([write]) as model:
        offer(runtime, model)
        outcome = ask(runtime)

    assert "wanted calls that need approval (rows.write)" in (outcome.error or "")

    async def list_waiting() -> tuple[Any, ...]:
        return tuple(await runtime.runtime.approvals.list(tenant="hive"))

    assert run_on(runtime, list_waiting()) == ()


def test_a_model_that_fails_and_an_agent_that_is_not_there_are_errors_of_the_call(runtime: BlockingRuntime) -> None:
    with ModelServer([ModelFailure(401, "bad key")]) as model:
        offer(runtime, model)
        failed = ask(runtime)
        unknown = ask(runtime, ASK.replace("reader", "boss"))
    assert "agent reader did not answer" in (failed.error or "")
    assert "boss" in (unknown.error or "")
    assert len(model.requests) == 1


def test_real_values_stay_out_of_the_question_and_come_back_in_the_answer(runtime: BlockingRuntime) -> None:
    seen: list[str] = []

    def repeat(request: ModelRequest) -> ModelAnswer:
        seen.append(request.last_text)
        return ModelAnswer(f"Write to {request.last_text.split()[-1]}")

    with ModelServer(repeat) as model:
        offer(runtime, model)
        outcome = ask(runtime, f"from agents import ask\nask('reader', 'mail to {MAIL}') == 'Write to {MAIL}'")
    assert outcome.result is True
    assert MAIL not in seen[0]
    assert "<EMAIL_" in seen[0]


def test_a_model_that_does_not_count_its_tokens_cannot_keep_a_budget(runtime: BlockingRuntime) -> None:
    with ModelServer([SAID]) as model:
        silent = ChatOpenAI(model="scripted", base_url=model.openai_url, api_key=SecretStr("k"), stream_usage=False)
        offer(runtime, model, model=silent)
        outcome = ask(runtime)
    assert "does not count its tokens" in (outcome.error or "")


@pytest.mark.parametrize(
    ("agents", "why"),
    [
        ({}, "at least one agent"),
        ({"a": Agent(model="openai:x", tokens=0)}, "no budget"),
        ({"a": Agent(model="openai:x", mode="blocks")}, "not 'blocks'"),
        ({"a": Agent(model="openai:x", mode="direct")}, "name tools in direct"),
    ],
)
def test_agents_that_cannot_be_are_refused(runtime: BlockingRuntime, agents: Mapping[str, Agent], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        run_on(runtime, offer_agents(runtime.runtime, agents))
