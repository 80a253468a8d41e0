"""Makes room for new connections: when too many are open, those that wait for a request are closed, the oldest first."""

import time
from collections.abc import Callable, Sized
from typing import Protocol

PATIENCE_SECONDS = 1.0
"""How long a connection may wait before it makes room for others."""
RESERVE = 64
"""Connections beyond the configured number, for monitoring and operators."""


class Evictable(Protocol):
    """A connection that can be ended at once."""

    def evict(self) -> None:
        """Ends the connection, and removes it from the open ones."""
        ...


class ConnectionCrowd:
    """The open ``connections``, and which of them wait: they have sent no complete request, or their answer is complete.

    A client that opens many connections and asks nothing keeps no place: a new connection beyond ``most`` closes those that have
    waited for some time, and one beyond the reserve closes the one that has waited longest. Connections whose request is being
    answered are never closed here.
    """

    def __init__(
        self, *, most: int, reserve: int = RESERVE, connections: Sized = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most, self._reserve, self.connections, self._clock = most, reserve, connections, clock
        self._waiting: dict[Evictable, float] = {}
        """Since when each of them waits, the oldest first."""

    @property
    def answering(self) -> int:
        """Number of connections whose request is being answered."""
        return len(self.connections) - len(self._waiting)

    def add_waiting(self, connection: Evictable) -> None:
        """Notes that an open connection begins to wait for a request, and makes room if there are too many."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = now = self._clock()
        while self._waiting and len(self.connections) > self.most:
            oldest = next(iter(self._waiting))
            # A new connection's request may be on its way: without the pause, a burst would close connections of its own.
            if now - self._waiting[oldest] < PATIENCE_SECONDS and len(self.connections) <= self.most + self._reserve:
                break
            self._evict(oldest)

    def remove_waiting(self, connection: Evictable) -> None:
        """Notes that a connection no longer waits: its request is being answered, or it has ended."""
        self._waiting.pop(connection, None)

    def _evict(self, connection: Evictable) -> None:
        del self._waiting[connection]
        connection.evict()
