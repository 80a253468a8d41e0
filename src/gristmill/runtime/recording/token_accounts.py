"""What an execution cost in tokens, counted with a real tokenizer behind its back: answers do not wait for it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import asdict, replace

from gristmill.catalog.catalog import Catalog, told
from gristmill.errors import StoreUnavailable
from gristmill.ledger.tokens.count_tokens import count_tokens
from gristmill.ledger.tokens.savings import saved_once
from gristmill.ledger.tokens.spent_records import CallRecord, ExecutionRecord, SearchRecord
from gristmill.ledger.tokens.spent_tokens import Spent
from gristmill.model import Outcome
from gristmill.shaping.token_counter import Count, token_counter
from gristmill.shaping.values.compact_json import as_text
from gristmill.values import dataclass

log = logging.getLogger(__name__)

WAITING = 1_000
WAITING_BYTES = 64_000_000
"""What may wait to be counted; past that an execution is left out of the accounts, and the log says so."""
AT_ONCE = 40_000
"""Characters that are counted before the answer goes back; more is counted afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCall:
    """One call whose texts are still here to be counted."""

    record: CallRecord
    arguments: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeExecution:
    """An execution whose texts are still here to be counted."""

    tenant: str
    record: ExecutionRecord
    code: str
    returned: str
    calls: tuple[MadeCall, ...]

    @property
    def size(self) -> int:
        """Characters to be counted."""
        return len(self.code) + len(self.returned) + sum(len(call.arguments) + len(call.result) for call in self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSearch:
    """A search whose answer is still here to be counted."""

    tenant: str
    record: SearchRecord
    answer: str

    @property
    def size(self) -> int:
        """Characters to be counted."""
        return len(self.record.query) + len(self.answer)


Made = MadeExecution | MadeSearch


class Accounts:
    """Counts in a thread, one execution after another, and keeps the numbers."""

    def __init__(self, spent: Spent, catalog: Callable[[], Catalog], surface_tokens: int) -> None:
        self._spent, self._catalog, self._surface = spent, catalog, surface_tokens
        self._definitions: tuple[str, int] = ("", 0)
        """A version of the catalogue, and the tokens of all its definitions."""
        self._queue: asyncio.Queue[Made] = asyncio.Queue(WAITING)
        self._bytes = 0
        self._count: Count | None = None
        self._worker: asyncio.Task[None] | None = None

    def add(self, made: MadeExecution) -> int | None:
        """Count ``made``: at once where that costs nothing to speak of, and then what it saved is known; else soon."""
        if self._count is not None and made.size <= AT_ONCE and self._definitions[0] == self._catalog().version:
            return self._counted(made, self._count)
        self._later(made)
        return None

    def search(self, tenant: str, record: SearchRecord, answer: str) -> None:
        """Count a search and the answer that a model got: at once where the tokenizer is there already, else soon."""
        made = MadeSearch(tenant=tenant, record=record, answer=answer)
        if self._count is not None and made.size <= AT_ONCE:
            self._counted_search(made, self._count)
        else:
            self._later(made)

    def _later(self, made: Made) -> None:
        if self._queue.full() or self._bytes + made.size > WAITING_BYTES:
            what = f"execution {made.record.execution}" if isinstance(made, MadeExecution) else "a search"
            log.warning("%s is left out of the token accounts: too much waits to be counted", what)
            return
        self._bytes += made.size
        self._queue.put_nowait(made)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    async def settled(self) -> None:
        """Return when everything that was added is counted."""
        if self._worker is not None:
            await asyncio.gather(self._worker, return_exceptions=True)

    async def _work(self) -> None:
        while not self._queue.empty():
            made = self._queue.get_nowait()
            try:
                await asyncio.to_thread(self._count_all, made)
            except StoreUnavailable as error:
                log.warning("the token accounts lack an entry: %s", error)
            finally:
                self._bytes -= made.size

    def _count_all(self, made: Made) -> None:
        self._count = self._count or token_counter()
        if self._count is None:
            return  # no tokenizer for this Python: nothing is guessed
        self._count_definitions(self._count)
        if isinstance(made, MadeSearch):
            self._counted_search(made, self._count)
        else:
            self._counted(made, self._count)

    def _count_definitions(self, count: Count) -> None:
        catalog = self._catalog()
        if self._definitions[0] == catalog.version:
            return
        tokens = {tool.key: count(told(tool)) for tool in catalog}
        self._spent.defined(tokens)
        self._definitions = (catalog.version, sum(tokens.values()))

    def _counted_search(self, made: MadeSearch, count: Count) -> None:
        tokens = {"query_tokens": count(made.record.query), "answer_tokens": count(made.answer)}
        self._spent.note(tenant=made.tenant, search=replace(made.record, **tokens))

    def _counted(self, made: MadeExecution, count: Count) -> int:
        execution = replace(
            made.record,
            code_tokens=count_tokens(made.code, count).tokens,
            returned_tokens=count_tokens(made.returned, count).tokens,
        )
        calls = [
            replace(
                call.record,
                argument_tokens=count_tokens(call.arguments, count).tokens,
                result_tokens=count_tokens(call.result, count).tokens,
            )
            for call in made.calls
        ]
        self._spent.note(tenant=made.tenant, execution=execution, calls=calls)
        return saved_once(execution, calls, definitions=self._definitions[1], surface=self._surface)


def returned_text(outcome: Outcome) -> str:
    """What of an outcome goes into a model's context."""
    left_out = [asdict(part) for part in outcome.left_out]
    return as_text({"output": outcome.output, "result": outcome.result, "error": outcome.error, "left_out": left_out})
