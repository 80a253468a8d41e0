"""Reads the token accounts as one value: what was spent, what the other ways would have cost, and advice."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct

from gristmill.config.sections.records_section import RecordsConfig
from gristmill.config.tree import Config
from gristmill.ledger.tokens.conversations import split_conversations
from gristmill.ledger.tokens.savings import CountedWork, Savings, compute_savings, explain_savings
from gristmill.ledger.tokens.spent_tokens import SpentTokens
from gristmill.ledger.tokens.token_advice import Advice, UsageHistory, give_advice
from gristmill.ledger.tokens.token_costs import TokenCosts, compute_costs, explain_costs
from gristmill.runtime.open.open_records import open_config_store

TOKEN_PRICE = RecordsConfig().token_price
METHOD = "o200k_base tokens; input of a loop that re-sends its context, one call per request; see docs/explain/tokens.md"


class Stats(Struct, frozen=True, kw_only=True):
    """The token account of some work; ``summary`` says the savings in sentences, whether positive or negative.

    ``tokens_saved`` is the number that outcomes and the metric add up to: against direct calls, each token counted once.
    """

    tokens_saved: int
    conversations: int
    executions: int
    calls: int
    searches: int
    tools: int
    definition_tokens: int
    savings: Savings
    costs: TokenCosts
    summary: str
    advice: tuple[Advice, ...]
    method: str = METHOD


def compute_stats(history: UsageHistory, *, price: float = TOKEN_PRICE, advised: bool = True) -> Stats:
    """Computes the account of a history; ``advised`` is false for one too short for advice."""
    work = CountedWork(
        definitions=history.definitions, executions=history.executions, calls=history.calls, searches=history.searches
    )
    conversations = split_conversations(work)
    found = compute_savings(*conversations)
    costs = compute_costs(found.ways, price)
    return Stats(
        tokens_saved=found.against_direct.once,
        conversations=len(conversations),
        executions=len(history.executions),
        calls=len(history.calls),
        searches=len(history.searches),
        tools=len(history.definitions),
        definition_tokens=sum(history.definitions.values()),
        savings=found,
        costs=costs,
        summary=f"{explain_savings(found)} {explain_costs(costs)}",
        advice=give_advice(history) if advised else (),
    )


async def read_stats(
    spent: SpentTokens, *, tenant: str, session: str | None = None, since: float = 0.0, execution: str | None = None,
    conversation: str | None = None, price: float = TOKEN_PRICE,
) -> Stats:  # fmt: skip
    """Reads the account of a tenant, of one of its sessions or conversations, or of one execution alone, at any time.

    Raises:
        NotFound: no record of the execution is kept.
    """
    if execution is not None:
        return compute_stats(await spent.read_execution(execution, tenant=tenant), price=price, advised=False)
    history = await spent.read_history(tenant=tenant, session=session, conversation=conversation, since=since)
    return await asyncio.to_thread(compute_stats, history, price=price)  # a month of records takes a while


class OpenedAccounts(Struct, frozen=True, kw_only=True):
    """The token accounts of a configuration, and its price of a million tokens."""

    accounts: SpentTokens
    price: float


@asynccontextmanager
async def open_spent_tokens(config: Config) -> AsyncGenerator[OpenedAccounts]:
    """Opens the token accounts alone, without a sandbox or a server.

    Raises:
        StoreUnavailable: the store cannot be opened.
    """
    async with open_config_store(config) as store:
        yield OpenedAccounts(accounts=SpentTokens(store), price=config.records.token_price)
