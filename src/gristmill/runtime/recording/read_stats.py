"""Reads the token accounts as one value: what was spent, what the other ways would have cost, and advice."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct

from gristmill.config.tree import Config
from gristmill.ledger.tokens.conversations import split_conversations
from gristmill.ledger.tokens.savings import CountedWork, Savings, compute_savings, explain_savings
from gristmill.ledger.tokens.spent_tokens import SpentTokens
from gristmill.ledger.tokens.token_advice import Advice, UsageHistory, give_advice
from gristmill.runtime.open.open_records import open_config_store

METHOD = "o200k_base tokens; input of a loop that re-sends its context, one call per request; see docs/explain/tokens.md"


class Stats(Struct, frozen=True, kw_only=True):
    """The token account of some work; ``summary`` says both savings in a sentence, whether positive or negative."""

    executions: int
    calls: int
    searches: int
    tools: int
    definition_tokens: int
    savings: Savings
    summary: str
    advice: tuple[Advice, ...]
    method: str = METHOD


def compute_stats(history: UsageHistory, *, is_one: bool = False, advised: bool = True) -> Stats:
    """Computes the account of a history, one conversation if ``is_one``; ``advised`` is false for one too short for advice."""
    work = CountedWork(
        definitions=history.definitions, executions=history.executions, calls=history.calls, searches=history.searches
    )
    found = compute_savings(work) if is_one else compute_savings(*split_conversations(work))
    return Stats(
        executions=len(history.executions),
        calls=len(history.calls),
        searches=len(history.searches),
        tools=len(history.definitions),
        definition_tokens=sum(history.definitions.values()),
        savings=found,
        summary=explain_savings(found),
        advice=give_advice(history) if advised else (),
    )


async def read_stats(
    spent: SpentTokens, *, tenant: str, session: str | None = None, since: float = 0.0, execution: str | None = None
) -> Stats:
    """Reads the account of a tenant, of one of its sessions, or of one execution alone, at any time.

    Raises:
        NotFound: no record of the execution is kept.
    """
    if execution is not None:
        return compute_stats(await spent.read_execution(execution, tenant=tenant), is_one=True, advised=False)
    history = await spent.read_history(tenant=tenant, session=session, since=since)
    return await asyncio.to_thread(compute_stats, history, is_one=session is not None)  # a month of records takes a while


@asynccontextmanager
async def open_spent_tokens(config: Config) -> AsyncGenerator[SpentTokens]:
    """Opens the token accounts alone, without a sandbox or a server.

    Raises:
        StoreUnavailable: the store cannot be opened.
    """
    async with open_config_store(config) as store:
        yield SpentTokens(store)
