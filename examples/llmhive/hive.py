"""A hub of models: each is asked by its name, all share conversations, variables, files and skills, and ask each other from code.

``python -m examples.llmhive.hive -m planner=anthropic:claude-sonnet-5 -m coder=openai:gpt-5-mini "a question"``
"""

import argparse
import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from examples.llmhive.app import list_findings, rate_scores
from gristmill import Config, Runtime
from gristmill.chat.agents.agent_budget import Agent, AskedAgent
from gristmill.chat.agents.offer_agents import offer_agents
from gristmill.chat.chat import Chat
from gristmill.chat.chat_events import ChatAnswer
from gristmill.errors import Error
from gristmill.harmless_text import neutralize_text

TOOLS = {"hive.list_findings": list_findings, "hive.rate_scores": rate_scores}
MOST_COSTS = 1_000


class Hive:
    """Several models behind one interface, over one open runtime."""

    def __init__(self, runtime: Runtime, agents: Mapping[str, Agent]) -> None:
        """Opens all models.

        Raises:
            ConfigError: one of them cannot be opened.
        """
        self.runtime, self._agents = runtime, dict(agents)
        self._chats = {
            name: Chat(runtime, agent.model, mode=agent.mode, base_url=agent.base_url or None, direct=agent.direct)
            for name, agent in agents.items()
        }
        self.costs: list[AskedAgent] = []
        """What models cost that were asked by programs, newest last."""

    async def open(self) -> "Hive":
        """Lets programs of every model ask the others."""
        await offer_agents(self.runtime, self._agents, told=self._count)
        return self

    async def say(self, model: str, message: str, *, user: str, conversation: str | None = None) -> ChatAnswer:
        """Says something to one model; in a conversation it knows what was said to the others, and has their variables.

        Raises:
            KeyError: there is no such model.
        """
        return await self._chats[model].send(message, user=user, conversation=conversation)

    async def show_tree(self, answer: ChatAnswer) -> list[Mapping[str, Any]]:
        """What the programs of an answer did, with what the models did that they asked."""
        await self.runtime.audit.flush()
        return [(await self.runtime.audit.show(program.execution)).fields() for program in answer.programs]

    def _count(self, asked: AskedAgent) -> None:
        self.costs = [*self.costs, asked][-MOST_COSTS:]


def read_agents(given: list[str], tokens: int) -> dict[str, Agent]:
    """The agents that are named as NAME=PROVIDER:MODEL.

    Raises:
        ValueError: one is not named so.
    """
    found: dict[str, Agent] = {}
    for each in given:
        name, equals, model = each.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"{each!r} names no model: write it as planner=anthropic:claude-sonnet-5")
        found[name] = Agent(model=model, about=f"the model {model}", tokens=tokens)
    return found


def main() -> int:
    """Asks the first model one question; its programs may ask the others."""
    parser = argparse.ArgumentParser(prog="python -m examples.llmhive.hive", description="A hub of models.")
    parser.add_argument("question")
    parser.add_argument("-m", "--model", action="append", required=True, metavar="NAME=PROVIDER:MODEL", help="the first is asked")
    parser.add_argument("--tokens", type=int, default=50_000, help="what a model may use that is asked by another (50000)")
    chosen = parser.parse_args()
    try:
        agents = read_agents(chosen.model, chosen.tokens)
    except ValueError as error:
        parser.error(str(error))
    with tempfile.TemporaryDirectory(prefix="gristmill-llmhive-") as folder:
        Path(folder).chmod(0o755)  # code runs as another user when we are root
        try:
            return asyncio.run(_ask(chosen.question, agents, folder))
        except Error as error:
            parser.error(error.message)


async def _ask(question: str, agents: Mapping[str, Agent], folder: str) -> int:
    config = Config.model_validate({"store": {"path": folder}, "sandbox": {"limits": {"seconds": 300}}})
    async with Runtime.open(config, tools=TOOLS) as runtime:
        hive = await Hive(runtime, agents).open()
        answer = await hive.say(next(iter(agents)), question, user="me")
        print(neutralize_text(answer.text))
        for cost in hive.costs:
            used = cost.usage
            print(f"[{cost.agent} was asked: {used.input_tokens:,} tokens in, {used.output_tokens:,} out]")
    return 0 if answer.status == "answered" else 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        raise SystemExit(main())
