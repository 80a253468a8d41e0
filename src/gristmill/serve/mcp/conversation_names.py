"""Names the conversations of MCP clients, which send no such name: the requests of one caller without a long pause are one."""

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable

from gristmill.model import Identity

PAUSE_SECONDS = 1_800.0
"""After such a pause a caller's next request begins another conversation."""
MOST_CALLERS = 10_000


class ConversationNames:
    """The present conversation of each caller. Clients of one caller count as one conversation, so savings are never too high."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._current: OrderedDict[Identity, tuple[str, float]] = OrderedDict()

    def name(self, who: Identity) -> str:
        """Returns the name of the caller's conversation, and keeps it going."""
        now = self._clock()
        name, last = self._current.get(who, ("", 0.0))
        if not name or now - last > PAUSE_SECONDS:
            name = f"mcp-{uuid.uuid4().hex}"
        self._current[who] = (name, now)
        self._current.move_to_end(who)
        if len(self._current) > MOST_CALLERS:
            self._current.popitem(last=False)
        return name
