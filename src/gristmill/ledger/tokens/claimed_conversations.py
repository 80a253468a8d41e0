"""Remembers which conversations have claimed the definitions: a client has them in its context once, however often it calls."""

import threading
from collections import OrderedDict

from msgspec.structs import replace

from gristmill.ledger.tokens.spent_records import ALONE, SpentExecution

MOST_CONVERSATIONS = 20_000
"""How many conversations are remembered; of more, those longest unused are looked up in the store again."""


class ClaimedConversations:
    """The conversations of all tenants. Executions are counted in two threads, hence the lock."""

    def __init__(self) -> None:
        self._claimed: OrderedDict[tuple[str, str], bool] = OrderedDict()
        self._lock = threading.Lock()

    def knows(self, tenant: str, conversation: str) -> bool:
        """Returns whether nothing has to be looked up: the conversation is remembered, or it is one execution alone."""
        return conversation.startswith(ALONE) or (tenant, conversation) in self._claimed

    def remember(self, tenant: str, conversation: str, *, has_definitions: bool) -> None:
        """Remembers a conversation of which the store has executions."""
        with self._lock:
            self._claimed.setdefault((tenant, conversation), has_definitions)

    def claim(self, tenant: str, execution: SpentExecution, *, has_calls: bool, definitions: int, surface: int) -> SpentExecution:
        """Returns the execution with what it claims: ``surface`` if its conversation begins, ``definitions`` if none had them.

        Only an execution that succeeded and called a tool claims definitions: nobody attaches tools to compute 1 + 1.
        """
        is_worth = has_calls and execution.is_worth
        if execution.conversation.startswith(ALONE):
            return replace(execution, surface_tokens=surface, definition_tokens=definitions if is_worth else 0)
        key = (tenant, execution.conversation)
        with self._lock:
            had = self._claimed.get(key)
            self._claimed[key] = bool(had) or is_worth
            self._claimed.move_to_end(key)
            while len(self._claimed) > MOST_CONVERSATIONS:
                self._claimed.popitem(last=False)
        return replace(
            execution,
            surface_tokens=surface if had is None else 0,
            definition_tokens=definitions if is_worth and not had else 0,
        )
