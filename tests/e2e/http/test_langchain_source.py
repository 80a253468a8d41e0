"""LangChain over the service: a toolkit with an address and tokens, approvals by another token, and events over HTTP."""

from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import SecretStr

from gristmill.errors import ConfigError
from gristmill.http_client import Client
from gristmill.serve.langchain import CodeModeMiddleware, GristmillSandbox, GristmillToolkit
from gristmill.testing import ModelAnswer, ModelCall, ModelServer
from tests.e2e.http.conftest import Service
from tests.e2e.langchain.make_agent import make_agent

CODE = "from servers import crm\nprint('sending')\ncrm.send(to='langchain')"
QUESTION: Any = {"messages": [{"role": "user", "content": "send"}]}
THREAD: Any = {"configurable": {"thread_id": "over http"}}


@pytest.mark.requirement("L2")
def test_a_plan_is_decided_with_the_approvers_token_and_applied_once(service: Service) -> None:
    source = CodeModeMiddleware(service.url, token=service.tokens["ann"], approver=service.tokens["boss"])
    with ModelServer([ModelAnswer(calls=[ModelCall("execute_code", {"code": CODE})]), ModelAnswer("sent")]) as model:
        llm = ChatOpenAI(model="any", base_url=model.openai_url, api_key=SecretStr("key"))
        agent = make_agent(llm, middleware=[source], checkpointer=InMemorySaver())
        events: list[Any] = list(agent.stream(QUESTION, THREAD, stream_mode=["custom", "updates"]))
        assert [chunk["type"] for mode, chunk in events if mode == "custom"] == ["call_started", "call_finished", "output"]
        done = agent.invoke(Command(resume={"approve": "all"}), THREAD)
    assert done["messages"][-2].artifact["result"] == {"sent": "langchain", "times": 1}


@pytest.mark.requirement("L2")
def test_a_caller_does_not_approve_its_own_plan(service: Service) -> None:
    source = CodeModeMiddleware(service.url, token=service.tokens["ann_both"])
    with ModelServer([ModelAnswer(calls=[ModelCall("execute_code", {"code": CODE})]), ModelAnswer("no")]) as model:
        llm = ChatOpenAI(model="any", base_url=model.openai_url, api_key=SecretStr("key"))
        agent = make_agent(llm, middleware=[source], checkpointer=InMemorySaver())
        agent.invoke(QUESTION, {"configurable": {"thread_id": "own"}})
        done = agent.invoke(Command(resume={"approve": "all"}), {"configurable": {"thread_id": "own"}})
    assert (done["messages"][-2].status, "another person has to decide" in done["messages"][-2].text) == ("error", True)


def test_the_toolkit_works_with_a_client_and_outside_of_a_graph(service: Service) -> None:
    with Client(service.url, token=service.tokens["ann"]) as client:
        search, execute = GristmillToolkit(client).get_tools()
        assert "crm" in search.invoke({"query": "find customers"})
        message = execute.invoke({"type": "tool_call", "id": "1", "name": execute.name, "args": {"code": "6 * 7"}})
    assert message.artifact["result"] == 42


def test_a_service_that_is_down_is_an_error_that_the_model_reads() -> None:
    _, execute = GristmillToolkit("http://127.0.0.1:9", token="none").get_tools()
    assert str(execute.invoke({"code": "1"})).startswith("upstream.unavailable: the service does not answer")


def test_the_sandbox_for_deep_agents_works_over_the_service(service: Service) -> None:
    sandbox = GristmillSandbox(service.url, token=service.tokens["ann"], session="deep")
    assert [one.error for one in sandbox.upload_files([("/workspace/in/a", b"\x00\xff"), ("/workspace/b", b"")])] == [None, None]
    assert [one.content for one in sandbox.download_files(["/workspace/in/a", "/workspace/b"])] == [b"\x00\xff", b""]
    with pytest.raises(ConfigError, match="in the configuration of the runtime"):
        sandbox.execute("ls")
