"""Offers agents to programs as the tool ``agents.ask``: one model delegates to another from code."""

from collections.abc import Callable, Mapping

import anyio
from langchain_core.language_models import BaseChatModel

from gristmill.chat.agents.agent_budget import DEEPEST, Agent, AskBudget, AskedAgent
from gristmill.chat.agents.ask_agent import OpenAgent, ask_agent
from gristmill.chat.chat_models import describe_model, open_model
from gristmill.errors import ConfigError, ToolFailed
from gristmill.model import Json, ToolCall
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.server_values import DescribedFunction

SERVER, TOOL = "agents", "ask"
QUESTION_CHARACTERS = 200_000
MOST_AT_ONCE = 8
"""Questions that are answered at the same time at one depth; others wait."""
Told = Callable[[AskedAgent], None]


def _ignore_cost(_asked: AskedAgent) -> None:
    """Hears nothing."""


async def offer_agents(runtime: Runtime, agents: Mapping[str, Agent], *, told: Told = _ignore_cost) -> None:
    """Lets programs write ``from agents import ask``: ``ask("NAME", "a question")`` is the answer of that model.

    An agent writes programs itself, under the same identity, policy and limits, in a session of its own that ends with the
    answer. In the audit its executions stand under the one that asked. ``told`` hears what each answer cost.

    Raises:
        ConfigError: a model cannot be opened, or a budget is none.
    """
    opened = {name: _open_agent(runtime, name, agent) for name, agent in agents.items()}
    if not opened:
        raise ConfigError("name at least one agent")
    await runtime.add_tools(SERVER, [_describe_ask(_Asking(runtime, opened, told))])


def _open_agent(runtime: Runtime, name: str, agent: Agent) -> OpenAgent:
    if agent.tokens < 1 or agent.steps < 1 or agent.seconds <= 0:
        raise ConfigError(f"agent {name} has no budget: tokens, steps and seconds are above zero")
    if agent.mode not in ("code", "hybrid", "direct"):
        raise ConfigError(f'agent {name} works in the modes "code", "hybrid" and "direct", not {agent.mode!r}')
    if agent.mode != "code" and not agent.direct:
        raise ConfigError(f'agent {name} works in the mode {agent.mode!r}: name tools in direct, such as ("crm.find",)')
    model: BaseChatModel
    if isinstance(agent.model, str):
        model = open_model(agent.model, state=runtime.config.state_dir, base_url=agent.base_url or runtime.config.chat.base_url)
        return OpenAgent(name=name, agent=agent, model=model, model_name=agent.model)
    return OpenAgent(name=name, agent=agent, model=agent.model, model_name=describe_model(agent.model))


class _Asking:
    """The calls of ``ask``, and the budgets of the executions that agents have running."""

    def __init__(self, runtime: Runtime, agents: Mapping[str, OpenAgent], told: Told) -> None:
        self.runtime, self.agents, self._told = runtime, agents, told
        self._running: dict[str, AskBudget] = {}
        # One per depth: an agent that waits for another does not take its place.
        self._places = [anyio.CapacityLimiter(MOST_AT_ONCE) for _ in range(DEEPEST)]

    async def ask(self, call: ToolCall) -> Json:
        """Answers one call."""
        opened = self.agents[str(call.arguments["agent"])]
        above = self._running.get(call.execution)
        depth = 1 if above is None else above.depth + 1
        if depth > DEEPEST:
            raise ToolFailed(f"agents ask each other at most {DEEPEST} deep: answer from what you have")
        asked = call.arguments.get("tokens")
        tokens = min(opened.agent.tokens, int(asked) if isinstance(asked, int) else opened.agent.tokens)
        if above is not None:
            tokens = min(tokens, above.left)
        if tokens < 1:
            raise ToolFailed("no tokens are left for another agent: answer from what you have")
        budget = AskBudget(agent=opened.name, tokens=tokens, depth=depth, above=above)
        async with self._places[depth - 1]:
            return await ask_agent(self.runtime, opened, call, budget, self._running, self._told)


def _describe_ask(asking: _Asking) -> DescribedFunction:
    agents = asking.agents
    known = "; ".join(f"{name}: {opened.agent.about}" if opened.agent.about else name for name, opened in agents.items())
    properties: dict[str, Json] = {
        "agent": {"type": "string", "enum": list(agents)},
        "question": {"type": "string", "minLength": 1, "maxLength": QUESTION_CHARACTERS, "description": "all that it must know"},
        "as_json": {"type": "boolean", "description": "the answer is a JSON value instead of a text", "default": False},
        "tokens": {"type": "integer", "minimum": 1, "description": "less than the agent may use"},
    }
    return DescribedFunction(
        name=TOOL, call=asking.ask,
        description=f"Ask another model, which has the same tools, and get its answer as a value. Agents: {known}",
        input_schema={
            "type": "object", "properties": properties, "required": ["agent", "question"], "additionalProperties": False,
        },
        annotations={"readOnlyHint": True},
    )  # fmt: skip
