"""The three ways to do one task."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from examples.tasks.task import Call, Task
from examples.three_ways.conversation import Conversation, Cost, Count
from examples.three_ways.servers import Servers, compact, definition
from gristmill.events import CallFinished, Event
from gristmill.model import Outcome
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.tools.configured_servers import describe_servers
from gristmill.runtime.tools.search_answers import SearchAnswer
from gristmill.serve.mcp.tools.known_servers import list_known_servers
from gristmill.serve.mcp.tools.outcome_result import render_text
from gristmill.serve.mcp.tools.server_instructions import write_instructions
from gristmill.serve.mcp.tools.tool_surface import EXECUTE, SEARCH, TOOLS


@dataclass(slots=True)
class Trace:
    """A task done by direct calls: in each round the calls that went out together, and their answers."""

    servers: Servers
    rounds: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    tools: dict[str, None] = field(default_factory=dict[str, None])

    async def __call__(self, *calls: Call) -> list[Any]:
        """Make the calls, note them, and give what the model would read on from."""
        answers = [await self.servers.call(key, arguments) for key, arguments in calls]
        said = compact([{"name": key.partition(".")[2], "input": arguments} for key, arguments in calls])
        self.rounds.append((said, [compact(answer) for answer in answers]))
        self.tools |= dict.fromkeys(key for key, _ in calls)
        return [answer["result"] if set(answer) == {"result"} else answer for answer in answers]


def direct(trace: Trace, task: Task, definitions: Iterable[str], answer: str, count: Count) -> Cost:
    """Every definition in context, every result too."""
    talk = Conversation(count, *definitions, task.question)
    for said, results in trace.rounds:
        talk.answer(said, *results)
    talk.answer(answer)
    return talk.cost()


async def searched(runtime: Runtime, trace: Trace, task: Task, definitions: Mapping[str, str], answer: str, count: Count) -> Cost:
    """Search with our own search, then direct calls: only definitions that were found are in context."""
    talk = Conversation(count, surface()[0], task.question)
    for queries, keys, _ in await searches(runtime, task.searches, trace.tools):
        talk.answer(_search_calls(queries), *(definitions[key] for key in keys if key in definitions))
    for said, results in trace.rounds:
        talk.answer(said, *results)
    talk.answer(answer)
    return talk.cost()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """A task done by a program: what it cost, how it ended, and which tools it called in order."""

    cost: Cost
    outcome: Outcome
    calls: tuple[str, ...]


async def ours(runtime: Runtime, task: Task, answer: str, count: Count) -> Ours:
    """The surface, a search, a program, its outcome."""
    calls: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, CallFinished):
            calls.append(event.tool)

    outcome = await runtime.execute(task.program, context=task.context, emit=hear)
    talk = Conversation(
        count, *surface(), write_instructions(describe_servers(runtime.config, await list_known_servers(runtime))), task.question
    )
    for queries, _, texts in await searches(runtime, task.searches, dict.fromkeys(outcome.tools_called), set()):
        talk.answer(_search_calls(queries), *texts)
    talk.answer(compact({"name": EXECUTE, "input": {"code": task.program}}), render_text(outcome))
    talk.answer(answer)
    return Ours(cost=talk.cost(), outcome=outcome, calls=tuple(calls))


def surface() -> list[str]:
    """The definitions of the MCP door, ``search_tools`` first."""
    return [definition(tool.name, tool.description, tool.input_schema) for tool in TOOLS]


async def searches(
    runtime: Runtime, queries: Sequence[str], needed: Mapping[str, None], shown: set[str] | None = None
) -> list[tuple[Sequence[str], list[str], list[str]]]:
    """The task's own queries in one round; for needed tools that they did not find, a second round that asks for each by name.

    Each round: queries, keys of the tools found, texts that our own surface answers with. ``shown`` are the tools that this
    conversation has seen in full, as the door remembers them; it grows. With it, only tools that the texts tell of are found;
    without it all hits are, because their definitions are sent.
    """
    rounds = [await _round(runtime, queries, shown)]
    missing = [key for key in needed if key not in rounds[0][1]]
    if missing:
        rounds.append(await _round(runtime, [key.partition(".")[2].replace("_", " ") for key in missing], shown))
    return rounds


async def _round(runtime: Runtime, queries: Sequence[str], shown: set[str] | None) -> tuple[Sequence[str], list[str], list[str]]:
    found: list[SearchAnswer] = []
    for query in queries:
        found.append(await runtime.search(query, shown=shown or ()))
        if shown is not None:
            shown.update(found[-1].written)
    keys = dict.fromkeys(
        key for each in found for key in (each.told if shown is not None else [hit.tool.key for hit in each.hits])
    )
    return queries, list(keys), [each.text for each in found]


def _search_calls(queries: Sequence[str]) -> str:
    return compact([{"name": SEARCH, "input": {"query": query}} for query in queries])
