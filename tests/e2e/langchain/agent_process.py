"""An agent in a process of its own, to be killed: ``python -m tests.e2e.langchain.agent_process SETTINGS``, settings as JSON.

It prints one line of JSON per invocation: the interrupt, or the last message. Its one tool appends a line to a file, and stops for
good before the line with the number ``stop_at``.
"""

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import Any

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from pydantic import SecretStr

from gristmill import BlockingRuntime, Config, Runtime
from gristmill.serve.langchain import CodeModeMiddleware
from tests.e2e.langchain.make_agent import make_agent

THREAD: Any = {"configurable": {"thread_id": "one conversation"}}


class Writer:
    """The tool: writes a row, once per call."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._file, self._stop_at = Path(settings["file"]), settings.get("stop_at")

    def write(self, row: int) -> dict[str, int]:
        """Write a row."""
        if row == self._stop_at:
            print(json.dumps({"stopped": row}), flush=True)
            threading.Event().wait(100)
        with self._file.open("a") as file:
            file.write(f"{row}\n")
        return {"row": row}


def read_input(settings: dict[str, Any]) -> Any:
    """Returns the question, or the answer to the plan."""
    return Command(resume=settings["resume"]) if "resume" in settings else {"messages": [{"role": "user", "content": "write"}]}


def tell(state: dict[str, Any]) -> None:
    """Prints the interrupt, or how the conversation ended."""
    if "__interrupt__" in state:
        print(json.dumps({"interrupts": [one.value for one in state["__interrupt__"]]}), flush=True)
    else:
        *_, outcome, answer = state["messages"]
        print(json.dumps({"artifact": outcome.artifact, "answer": answer.text}), flush=True)


def run_blocking(settings: dict[str, Any], config: Config, model: ChatOpenAI) -> None:
    """Runs with LangGraph's SQLite saver, without an event loop."""
    writer = Writer(settings)
    with (
        SqliteSaver.from_conn_string(settings["checkpoints"]) as saver,
        BlockingRuntime(config, tools={"rows.write": writer.write}) as runtime,
    ):
        agent = make_agent(model, middleware=[CodeModeMiddleware(runtime)], checkpointer=saver)
        tell(agent.invoke(read_input(settings), THREAD))


async def run_async(settings: dict[str, Any], config: Config, model: ChatOpenAI) -> None:
    """Runs with LangGraph's PostgreSQL saver, on an event loop."""
    writer = Writer(settings)
    async with (
        AsyncPostgresSaver.from_conn_string(settings["checkpoints"]) as saver,
        Runtime.open(config, tools={"rows.write": writer.write}) as runtime,
    ):
        await saver.setup()
        agent = make_agent(model, middleware=[CodeModeMiddleware(runtime)], checkpointer=saver)
        tell(await agent.ainvoke(read_input(settings), THREAD))


def main() -> None:
    """Runs one invocation of the agent."""
    settings: dict[str, Any] = json.loads(sys.argv[1])
    config = Config.model_validate(settings["config"])
    model = ChatOpenAI(model="scripted", base_url=settings["model"], api_key=SecretStr("key"), max_retries=0)
    if settings["checkpoints"].startswith("postgresql:"):
        asyncio.run(run_async(settings, config, model))
    else:
        run_blocking(settings, config, model)


if __name__ == "__main__":
    main()
