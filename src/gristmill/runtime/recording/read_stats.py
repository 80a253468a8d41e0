"""The accounts as one value: what was spent, what the other ways would have cost, what is advised."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gristmill.config.tree import Config
from gristmill.ledger.tokens.conversations import conversations
from gristmill.ledger.tokens.savings import Savings, Work, explain, savings
from gristmill.ledger.tokens.spent_tokens import TABLES, Spent
from gristmill.ledger.tokens.token_advice import Advice, History, advise
from gristmill.runtime.open.open_records import open_config_store
from gristmill.values import dataclass

METHOD = "o200k_base tokens; input of a loop that re-sends its context, one call per request; see docs/explain/tokens.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """``summary`` says both savings in a sentence, whichever way they went."""

    executions: int
    calls: int
    searches: int
    tools: int
    definition_tokens: int
    savings: Savings
    summary: str
    advice: tuple[Advice, ...]
    method: str = METHOD


def stats_of(history: History, *, is_one: bool = False, advised: bool = True) -> Stats:
    """The account of a history, ``is_one`` if it is one conversation; nothing is advised upon one that is too short for it."""
    work = Work(definitions=history.definitions, executions=history.executions, calls=history.calls, searches=history.searches)
    found = savings(work) if is_one else savings(*conversations(work))
    return Stats(
        executions=len(history.executions),
        calls=len(history.calls),
        searches=len(history.searches),
        tools=len(history.definitions),
        definition_tokens=sum(history.definitions.values()),
        savings=found,
        summary=explain(found),
        advice=advise(history) if advised else (),
    )


async def read_stats(
    spent: Spent, *, tenant: str, session: str | None = None, since: float = 0.0, execution: str | None = None
) -> Stats:
    """The account of a tenant, of one of its sessions, or of one execution alone, whenever that was.

    Raises:
        NotFound: nothing is kept of the execution.
    """
    if execution is not None:
        return stats_of(await spent.of_execution(execution, tenant=tenant), is_one=True, advised=False)
    history = await spent.history(tenant=tenant, session=session, since=since)
    return await asyncio.to_thread(stats_of, history, is_one=session is not None)  # a month of them takes its time


@asynccontextmanager
async def open_spent(config: Config) -> AsyncGenerator[Spent]:
    """The accounts alone, without a sandbox or a server.

    Raises:
        StoreUnavailable: the store cannot be opened.
    """
    async with open_config_store(config, TABLES) as store:
        yield Spent(store)
