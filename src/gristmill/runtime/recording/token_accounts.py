"""Counts what an execution cost in tokens, with a real tokenizer and in the background: answers do not wait for it."""

import asyncio
import logging
from collections.abc import Callable

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from gristmill.catalog.catalog import Catalog, render_for_model
from gristmill.errors import StoreUnavailable
from gristmill.ledger.tokens.claimed_conversations import ClaimedConversations
from gristmill.ledger.tokens.count_tokens import count_tokens
from gristmill.ledger.tokens.savings import compute_saved, compute_search_saved
from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, SpentSearch
from gristmill.ledger.tokens.spent_tokens import SpentTokens
from gristmill.model import Outcome
from gristmill.shaping.token_counter import Count, load_token_counter
from gristmill.shaping.values.compact_json import encode_json_text

log = logging.getLogger(__name__)

MOST_WAITING = 1_000
WAITING_BYTES = 64_000_000
"""What may wait to be counted; beyond that an execution is left out of the accounts, and the log says so."""
AT_ONCE_CHARACTERS = 40_000
"""Most characters that are counted before the answer goes back; more is counted afterwards."""


class UncountedCall(Struct, frozen=True, kw_only=True):
    """One call with its texts, which are not counted yet."""

    record: SpentCall
    arguments: str
    result: str


class UncountedExecution(Struct, frozen=True, kw_only=True):
    """An execution with its texts, which are not counted yet."""

    tenant: str
    record: SpentExecution
    code: str
    returned: str
    calls: tuple[UncountedCall, ...]

    @property
    def size(self) -> int:
        """Returns the number of characters to be counted."""
        return len(self.code) + len(self.returned) + sum(len(call.arguments) + len(call.result) for call in self.calls)


class UncountedSearch(Struct, frozen=True, kw_only=True):
    """A search with its answer, which is not counted yet."""

    tenant: str
    record: SpentSearch
    answer: str

    @property
    def size(self) -> int:
        """Returns the number of characters to be counted."""
        return len(self.record.query) + len(self.answer)


CountListener = Callable[[str, SpentExecution, tuple[SpentCall, ...], int], None]
"""Is told of a counted execution: its tenant, its record, its calls, and what it saved."""
UncountedWork = UncountedExecution | UncountedSearch


class TokenAccounts:
    """Counts tokens in a thread, one execution after another, and stores the numbers.

    ``add_saved`` is told what each execution and each search saved, as soon as it is counted: the metric is the sum of these.
    """

    def __init__(
        self, spent: SpentTokens, catalog: Callable[[], Catalog], surface_tokens: int, add_saved: Callable[[int], None]
    ) -> None:
        self._spent, self._catalog, self._surface, self._add_saved = spent, catalog, surface_tokens, add_saved
        self.listeners: list[CountListener] = []
        self._claims = ClaimedConversations()
        self._definitions: tuple[str, int] = ("", 0)
        """A version of the catalogue, and the tokens of all its definitions."""
        self._queue: asyncio.Queue[UncountedWork] = asyncio.Queue(MOST_WAITING)
        self._waiting_size = 0
        self._count: Count | None = None
        self._worker: asyncio.Task[None] | None = None

    def count_execution(self, made: UncountedExecution) -> int | None:
        """Counts ``made``: at once where that is cheap, and then returns what it saved; otherwise soon, and returns None."""
        is_known = self._claims.knows(made.tenant, made.record.conversation) and self._definitions[0] == self._catalog().version
        if self._count is not None and is_known and made.size <= AT_ONCE_CHARACTERS:
            return self._store_execution(made, self._count)
        self._enqueue(made)
        return None

    def count_search(self, tenant: str, record: SpentSearch, answer: str) -> None:
        """Counts a search and the answer that a model got: at once if the tokenizer is loaded already, otherwise soon."""
        made = UncountedSearch(tenant=tenant, record=record, answer=answer)
        if self._count is not None and made.size <= AT_ONCE_CHARACTERS:
            self._store_search(made, self._count)
        else:
            self._enqueue(made)

    def _enqueue(self, made: UncountedWork) -> None:
        # One work of any size is taken if nothing else waits: the largest results are those that matter most.
        if self._queue.full() or (self._waiting_size and self._waiting_size + made.size > WAITING_BYTES):
            what = f"execution {made.record.execution}" if isinstance(made, UncountedExecution) else "a search"
            log.warning("%s is left out of the token accounts: too much waits to be counted", what)
            return
        self._waiting_size += made.size
        self._queue.put_nowait(made)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._count_queued())

    async def wait_until_counted(self) -> None:
        """Waits until everything that was added is counted."""
        if self._worker is not None:
            await asyncio.gather(self._worker, return_exceptions=True)

    async def _count_queued(self) -> None:
        while not self._queue.empty():
            made = self._queue.get_nowait()
            try:
                if isinstance(made, UncountedExecution):
                    await self._look_up_claim(made.tenant, made.record.conversation)
                await asyncio.to_thread(self._count_all, made)
            except StoreUnavailable as error:
                log.warning("the token accounts lack an entry: %s", error)
            finally:
                self._waiting_size -= made.size

    async def _look_up_claim(self, tenant: str, conversation: str) -> None:
        """Looks up what earlier processes counted of a conversation, the first time that this one sees it."""
        if not self._claims.knows(tenant, conversation):
            has_definitions = await self._spent.read_claim(tenant, conversation)
            if has_definitions is not None:
                self._claims.remember(tenant, conversation, has_definitions=has_definitions)

    def _count_all(self, made: UncountedWork) -> None:
        self._count = self._count or load_token_counter()
        if self._count is None:
            return  # there is no tokenizer for this Python: nothing is estimated
        self._count_definitions(self._count)
        if isinstance(made, UncountedSearch):
            self._store_search(made, self._count)
        else:
            self._store_execution(made, self._count)

    def _count_definitions(self, count: Count) -> None:
        catalog = self._catalog()
        if self._definitions[0] == catalog.version:
            return
        tokens = {tool.key: count(render_for_model(tool)) for tool in catalog}
        self._spent.store_definitions(tokens)
        self._definitions = (catalog.version, sum(tokens.values()))

    def _store_search(self, made: UncountedSearch, count: Count) -> None:
        tokens = {"query_tokens": count(made.record.query), "answer_tokens": count(made.answer)}
        search = replace(made.record, **tokens)
        self._spent.store_spent(tenant=made.tenant, search=search)
        self._add_saved(compute_search_saved(search))

    def _store_execution(self, made: UncountedExecution, count: Count) -> int:
        execution = replace(
            made.record,
            code_tokens=count_tokens(made.code, count),
            returned_tokens=count_tokens(made.returned, count),
        )
        calls = [
            replace(
                call.record,
                argument_tokens=count_tokens(call.arguments, count),
                result_tokens=count_tokens(call.result, count),
            )
            for call in made.calls
        ]
        execution = self._claims.claim(
            made.tenant, execution, has_calls=bool(calls), definitions=self._definitions[1], surface=self._surface
        )
        self._spent.store_spent(tenant=made.tenant, execution=execution, calls=calls)
        saved = compute_saved(execution, calls)
        self._add_saved(saved)
        for listener in self.listeners:
            listener(made.tenant, execution, tuple(calls), saved)
        return saved


def render_returned(outcome: Outcome) -> str:
    """Returns the part of an outcome that goes into a model's context, as text."""
    left_out = to_builtins(outcome.left_out)
    return encode_json_text({"output": outcome.output, "result": outcome.result, "error": outcome.error, "left_out": left_out})
