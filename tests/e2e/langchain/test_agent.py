"""Agents with the middleware: what the model is offered, what programs can call, what a person is asked, what is streamed."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import SecretStr

from gristmill import BlockingRuntime, Config, Runtime
from gristmill.errors import ConfigError
from gristmill.serve.langchain import CodeModeMiddleware
from gristmill.testing import ModelAnswer, ModelCall, ModelServer
from tests.e2e.langchain.make_agent import make_agent

written: list[tuple[int, str]] = []


def write(row: int, user: str = "") -> dict[str, int]:
    """Write a row."""
    written.append((row, user))
    return {"row": row}


def read(row: int) -> str:
    """Read a row."""
    return f"row {row}"


def list_rows() -> list[str]:
    """List all rows."""
    return [f"row {number} with a long text about nothing in particular" for number in range(200)]


CONFIG: dict[str, Any] = {"policy": {"ask": ["rows.write", "tools.pay"]}}
FUNCTIONS: dict[str, Callable[..., Any]] = {"rows.write": write, "rows.read": read, "rows.list": list_rows}
THREE_WRITES = """
from servers import rows
from mcp_client import ToolError
first = rows.read(row=1)
for number in (1, 2, 3):
    try:
        rows.write(row=number, user=context.user_id)
    except ToolError:
        print("refused", number)
first
"""


@dataclass
class Context:
    """What the application knows about its user."""

    user_id: str
    connection: object = None


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config = Config.model_validate({**CONFIG, "store": {"path": str(tmp_path_factory.mktemp("langchain"))}})
    with BlockingRuntime(config, tools=FUNCTIONS) as opened:
        yield opened


@pytest.fixture(autouse=True)
def forget_written() -> None:
    written.clear()


def use_openai(model: ModelServer) -> ChatOpenAI:
    return ChatOpenAI(model="scripted", base_url=model.openai_url, api_key=SecretStr("key"), max_retries=0)


def write_program(code: str, *, then: str = "done") -> list[ModelAnswer]:
    return [ModelAnswer(calls=[ModelCall("execute_code", {"code": code})]), ModelAnswer(then)]


def name_thread(request: pytest.FixtureRequest) -> Any:
    return {"configurable": {"thread_id": request.node.name}}


def ask(text: str = "go") -> Any:
    return {"messages": [{"role": "user", "content": text}]}


def find_outcome(state: dict[str, Any]) -> dict[str, Any]:
    return state["messages"][-2].artifact


@pytest.mark.requirement("L2")
@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        ({"approve": "all"}, [1, 2, 3]),
        ({"approve": [1, 3]}, [1, 3]),
        ({"approve": "none"}, []),
        ({"approve": "yes"}, []),
        ({"approve": [1, 9]}, []),
        ({"approve": [True]}, []),
        ({"approve": "all", "hash": "of another plan"}, []),
        ("all", [1, 2, 3]),
        (None, []),
    ],
)
def test_one_interrupt_shows_the_whole_plan_and_exactly_the_approved_calls_are_made(
    runtime: BlockingRuntime, request: pytest.FixtureRequest, answer: Any, rows: list[int]
) -> None:
    thread = name_thread(request)
    with ModelServer(write_program(THREE_WRITES)) as model:
        agent = make_agent(
            use_openai(model), middleware=[CodeModeMiddleware(runtime)], context_schema=Context, checkpointer=InMemorySaver()
        )
        (question,) = agent.invoke(ask(), thread, context=Context("ann", object()))["__interrupt__"]
        assert question.value["type"] == "gristmill.approval"
        assert [call["arguments"] for call in question.value["calls"]] == [{"row": row, "user": "ann"} for row in (1, 2, 3)]
        assert question.value["groups"] == [{"tool": "rows.write", "calls": [1, 2, 3]}]
        assert question.value["expires"] > 0
        assert written == []
        # A state that is asked for in between runs nothing.
        assert agent.get_state(thread).next == ("tools",)
        done = agent.invoke(Command(resume={question.id: answer}), thread, context=Context("ann", object()))
    assert written == [(row, "ann") for row in rows]
    assert find_outcome(done)["status"] == "ok"
    assert "ann" not in model.requests[0].system + str(model.requests[0].messages)


@pytest.mark.requirement("L2")
def test_a_plan_that_is_not_whole_asks_again_with_the_rest(runtime: BlockingRuntime, request: pytest.FixtureRequest) -> None:
    code = "from servers import rows\nif rows.write(row=1)['row'] == 1:\n    rows.write(row=2)\n'both'"
    thread = name_thread(request)
    with ModelServer(write_program(code)) as model:
        agent = make_agent(use_openai(model), middleware=[CodeModeMiddleware(runtime)], checkpointer=InMemorySaver())
        first = agent.invoke(ask(), thread)["__interrupt__"][0].value
        assert ([call["number"] for call in first["calls"]], "decides how" in first["stopped"]) == ([1], True)
        second = agent.invoke(Command(resume={"approve": "all"}), thread)["__interrupt__"][0].value
        assert [call["arguments"]["row"] for call in second["calls"]] == [2]
        done = agent.invoke(Command(resume={"approve": "all"}), thread)
    assert ([row for row, _ in written], find_outcome(done)["result"]) == ([1, 2], "both")


def test_without_a_checkpointer_the_plan_waits_in_the_inbox(runtime: BlockingRuntime) -> None:
    with ModelServer(write_program("from servers import rows\nrows.write(row=1)")) as model:
        agent = make_agent(use_openai(model), middleware=[CodeModeMiddleware(runtime)])
        outcome = find_outcome(agent.invoke(ask()))
    assert (outcome["status"], written) == ("awaiting_approval", [])
    assert outcome["plan"]["id"] in [approval.id for approval in runtime.pending_approvals()]


def test_variables_live_on_in_a_thread_and_not_in_another(runtime: BlockingRuntime, request: pytest.FixtureRequest) -> None:
    script = [*write_program("x = 41"), *write_program("x + 1"), *write_program("x")]
    with ModelServer(script) as model:
        agent = make_agent(use_openai(model), middleware=[CodeModeMiddleware(runtime)], checkpointer=InMemorySaver())
        agent.invoke(ask(), name_thread(request))
        second = agent.invoke(ask(), name_thread(request))
        other = agent.invoke(ask(), {"configurable": {"thread_id": "another"}})
    assert find_outcome(second)["result"] == 42
    assert find_outcome(other)["error_type"] == "NameError"


def test_a_model_that_numbers_its_calls_anew_gets_each_program_executed(
    runtime: BlockingRuntime, request: pytest.FixtureRequest
) -> None:
    call = ModelCall("execute_code", {"code": "count = globals().get('count', 0) + 1; count"}, id="call_0")
    with ModelServer([ModelAnswer(calls=[call]), ModelAnswer(calls=[call]), ModelAnswer("done")]) as model:
        agent = make_agent(use_openai(model), middleware=[CodeModeMiddleware(runtime)], checkpointer=InMemorySaver())
        done = agent.invoke(ask(), name_thread(request))
    assert [message.artifact["result"] for message in done["messages"] if message.type == "tool"] == [1, 2]


def test_output_and_nested_calls_are_streamed(runtime: BlockingRuntime, request: pytest.FixtureRequest) -> None:
    with ModelServer(write_program("from servers import rows\nprint(rows.read(row=7))")) as model:
        agent = make_agent(use_openai(model), middleware=[CodeModeMiddleware(runtime)], checkpointer=InMemorySaver())
        events: list[Any] = list(agent.stream(ask(), name_thread(request), stream_mode="custom"))
    assert {event["source"] for event in events} == {"gristmill"}
    assert [event["type"] for event in events] == ["call_started", "call_finished", "output"]
    assert events[0]["tool"] == "rows.read"
    assert events[-1]["text"] == "row 7\n"


def test_output_arrives_as_deltas_of_the_tool_call(runtime: BlockingRuntime, request: pytest.FixtureRequest) -> None:
    with ModelServer(write_program("print('as it happens')")) as model:
        agent = make_agent(use_openai(model), middleware=[CodeModeMiddleware(runtime)], checkpointer=InMemorySaver())
        found: list[Any] = list(agent.stream(ask(), name_thread(request), stream_mode="tools"))
    assert [one["delta"] for one in found if one["event"] == "tool-output-delta"] == ["as it happens\n"]


@tool
def get_weather(city: str) -> str:
    """Get the weather."""
    return f"sunny in {city}"


@tool
def pay(amount: int) -> str:
    """Pay."""
    written.append((amount, "paid"))
    return "paid"


@tool
def ask_person(question: str) -> str:
    """Ask a person."""
    return str(interrupt(question))


class Watching(AgentMiddleware):
    """Another middleware of the same agent: it sees each call, and forbids one city."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        self._look(request)
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        self._look(request)
        return await handler(request)

    def _look(self, request: Any) -> None:
        self.seen.append(request.tool_call["name"])
        if request.tool_call["args"].get("city") == "Nowhere":
            raise ValueError("there is no such city")


PLAIN = """
from servers.tools import get_weather, pay, ask_person
from mcp_client import ToolError
found = [get_weather(city="Paris")]
for attempt in (lambda: get_weather(city="Nowhere"), lambda: ask_person(question="really?")):
    try:
        attempt()
    except ToolError as error:
        found.append(str(error))
pay(amount=5)
found
"""


def check_plain_tools(watching: Watching, first: dict[str, Any], done: dict[str, Any]) -> None:
    assert [call["tool"] for call in first["__interrupt__"][0].value["calls"]] == ["tools.pay"]
    weather, nowhere, person = find_outcome(done)["result"]
    assert weather == "sunny in Paris"
    assert "there is no such city" in nowhere
    assert "let the policy ask about it" in person
    assert written == [(5, "paid")]
    assert {"execute_code", "get_weather", "pay", "ask_person"} == set(watching.seen)
    assert watching.seen.count("pay") == 1


PLAIN_TOOLS: list[BaseTool] = [get_weather, pay, ask_person]


@pytest.mark.requirement("L3")
def test_plain_tools_are_called_from_programs_through_the_middleware_and_the_policy(
    runtime: BlockingRuntime, request: pytest.FixtureRequest
) -> None:
    watching = Watching()
    with ModelServer(write_program(PLAIN)) as model:
        middleware = [CodeModeMiddleware(runtime, tools=PLAIN_TOOLS), watching]
        agent = make_agent(use_openai(model), middleware=middleware, checkpointer=InMemorySaver())
        first = agent.invoke(ask(), name_thread(request))
        done = agent.invoke(Command(resume={"approve": "all"}), name_thread(request))
    check_plain_tools(watching, first, done)


@pytest.mark.requirement("L3")
def test_plain_tools_are_called_where_the_present_agent_runs(runtime: BlockingRuntime, request: pytest.FixtureRequest) -> None:
    code = "from servers.tools import get_weather\nget_weather(city='Rome')"
    with ModelServer(write_program(code) * 4) as model:
        for thread in (name_thread(request), name_thread(request), None, None):  # the third and fourth have no session
            watching = Watching()
            middleware = [CodeModeMiddleware(runtime, tools=[get_weather]), watching]
            agent = make_agent(use_openai(model), middleware=middleware, checkpointer=InMemorySaver() if thread else None)
            assert find_outcome(agent.invoke(ask(), thread))["result"] == "sunny in Rome"
            assert watching.seen == ["execute_code", "get_weather"]
    assert runtime.execute(code).error_type == "ToolError"  # no agent runs it


@pytest.mark.requirement("L3")
def test_the_same_holds_on_an_event_loop_and_with_the_other_protocol(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    async def talk() -> None:
        config = Config.model_validate({**CONFIG, "store": {"path": str(tmp_path)}})
        watching, thread = Watching(), name_thread(request)
        with ModelServer(write_program(PLAIN)) as model:
            async with Runtime.open(config, tools=FUNCTIONS) as opened:
                llm = ChatAnthropic(model_name="scripted", base_url=model.url, api_key=SecretStr("key"), timeout=30, stop=None)
                middleware = [CodeModeMiddleware(opened, tools=PLAIN_TOOLS), watching]
                saver = InMemorySaver()
                agent = make_agent(llm, middleware=middleware, checkpointer=saver)
                first = await agent.ainvoke(ask(), thread)
                # Another middleware stands for another process: it has not seen the beginning.
                again = [CodeModeMiddleware(opened, tools=PLAIN_TOOLS), watching]
                resumed = make_agent(llm, middleware=again, checkpointer=saver)
                done = await resumed.ainvoke(Command(resume={"approve": "all"}), thread)
        check_plain_tools(watching, first, done)

    asyncio.run(talk())


def test_hybrid_offers_chosen_tools_beside_programs(runtime: BlockingRuntime, request: pytest.FixtureRequest) -> None:
    script = [ModelAnswer(calls=[ModelCall("rows__read", {"row": 3})]), ModelAnswer("done")]
    with ModelServer(script) as model:
        middleware = CodeModeMiddleware(runtime, mode="hybrid", direct=["rows.read"])
        agent = make_agent(use_openai(model), middleware=[middleware], checkpointer=InMemorySaver())
        done = agent.invoke(ask(), name_thread(request))
    assert model.requests[0].tools == ("search_tools", "execute_code", "rows__read")
    assert find_outcome(done)["result"] == "row 3"


def test_direct_calls_ask_by_the_same_interrupt(runtime: BlockingRuntime, request: pytest.FixtureRequest) -> None:
    script = [ModelAnswer(calls=[ModelCall("rows__write", {"row": 8, "user": "bob"})]), ModelAnswer("done")]
    with ModelServer(script) as model:
        middleware = CodeModeMiddleware(runtime, mode="direct", direct=["rows.write"])
        agent = make_agent(use_openai(model), middleware=[middleware], checkpointer=InMemorySaver())
        (question,) = agent.invoke(ask(), name_thread(request))["__interrupt__"]
        assert [call["arguments"] for call in question.value["calls"]] == [{"row": 8, "user": "bob"}]
        agent.invoke(Command(resume={"approve": "all"}), name_thread(request))
    assert model.requests[0].tools == ("rows__write",)
    assert written == [(8, "bob")]


def test_auto_chooses_from_the_accounts_and_says_why(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    config = Config.model_validate({**CONFIG, "store": {"path": str(tmp_path)}})
    with BlockingRuntime(config, tools={"notes.read_note": read, "shop.list_orders": list_rows}) as opened:
        script = [
            ModelAnswer("never called"),
            ModelAnswer(calls=[ModelCall("notes__read_note", {"row": 1})]),
            ModelAnswer("small"),
            ModelAnswer("large"),
        ]
        with ModelServer(script) as model:
            agent = make_agent(
                use_openai(model), middleware=[CodeModeMiddleware(opened, mode="auto")], checkpointer=InMemorySaver()
            )

            def choose(text: str, thread: str) -> Any:
                found: list[Any] = list(agent.stream(ask(text), {"configurable": {"thread_id": thread}}, stream_mode="custom"))
                return next(event for event in found if event["type"] == "mode")

            unknown = choose("read note", "one")
            opened.execute("from servers import notes\nnotes.read_note(row=1)")
            opened.execute("from servers import shop\nlen(shop.list_orders())")
            small, large = choose("read note", "two"), choose("list orders", "three")
    assert (unknown["mode"], "was called before" in unknown["why"]) == ("code", True)
    assert (small["mode"], small["tools"]) == ("direct", ["notes.read_note"]), small
    assert (large["mode"], "tokens on average" in large["why"]) == ("code", True)
    assert [request.tools for request in model.requests[:2]] == [("search_tools", "execute_code"), ("notes__read_note",)]


def test_what_cannot_work_is_said_at_once(runtime: BlockingRuntime) -> None:
    with pytest.raises(ConfigError, match=r"direct=\["):
        CodeModeMiddleware(runtime, mode="hybrid")
    with pytest.raises(ConfigError, match="a service cannot call tools of this process"):
        CodeModeMiddleware("http://127.0.0.1:1", tools=[get_weather])
    with pytest.raises(ConfigError, match="cannot run code"):
        CodeModeMiddleware(42)  # pyright: ignore[reportArgumentType]
