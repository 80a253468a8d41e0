"""Remembers which tools a connection has been shown in full, so that a later search names them instead of repeating them.

A client may have dropped the earlier answer from its context: a name comes with the tool's parameters, an explicit
``detail_level`` repeats everything, and nothing is remembered for long.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from weakref import ReferenceType, ref

from msgspec import Struct, field

from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern

SHOWN_SECONDS = 600.0
"""How long a tool counts as shown; a conversation that goes on longer may have been summarized since."""
MOST_SHOWN = 200
MOST_CONNECTIONS = 1_000


class _SeenTools(Struct):
    handshake: ReferenceType[object]
    times: OrderedDict[str, float] = field(default_factory=OrderedDict[str, float])


class ShownTools:
    """The tools that each connection has seen. A connection is known by its handshake, which lives as long as it does."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: OrderedDict[int, _SeenTools] = OrderedDict()

    def list_shown(self, ctx: Ctx) -> frozenset[str]:
        """Returns the keys of the tools shown not long ago; none in the 2026 revision, where requests share no connection."""
        seen, since = self._find(ctx), self._clock() - SHOWN_SECONDS
        return frozenset(key for key, at in seen.times.items() if at >= since) if seen else frozenset()

    def note_shown(self, ctx: Ctx, keys: Iterable[str]) -> None:
        """Remembers that these tools were shown in full now."""
        handshake = ctx.session.client_params
        if handshake is None or is_modern(ctx):
            return
        seen = self._find(ctx) or _SeenTools(handshake=ref(handshake))
        self._seen[id(handshake)] = seen
        for key in keys:
            seen.times[key] = self._clock()
            seen.times.move_to_end(key)
        while len(seen.times) > MOST_SHOWN:
            seen.times.popitem(last=False)
        while len(self._seen) > MOST_CONNECTIONS:
            self._seen.popitem(last=False)

    def _find(self, ctx: Ctx) -> _SeenTools | None:
        handshake = ctx.session.client_params
        seen = self._seen.get(id(handshake)) if handshake is not None and not is_modern(ctx) else None
        # An id is used again after its object is gone.
        return seen if seen is not None and seen.handshake() is handshake else None
