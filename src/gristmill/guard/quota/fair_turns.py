"""Places for calls that tenants get in turn: a tenant with a thousand waiting calls delays another by one call only."""

from collections import deque
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True, eq=False)
class _Waiter:
    """One call that waits for a place; ``called`` is set when it has one."""

    called: anyio.Event = field(default_factory=anyio.Event)


class FairTurns:
    """``places`` that can be taken at the same time; each tenant has its own queue, and the queues are served in turn."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiters: dict[str, deque[_Waiter]] = {}

    def take_free_place(self) -> bool:
        """Takes a free place and returns whether there was one. A place is only free while no call waits."""
        if not self._free:
            return False
        self._free -= 1
        return True

    async def wait_for_place(self, tenant: str) -> None:
        """Waits until a place is free and it is the turn of ``tenant``; the place is then taken."""
        waiter = _Waiter()
        queue = self._waiters.setdefault(tenant, deque())
        queue.append(waiter)
        try:
            await waiter.called.wait()
        except BaseException:
            if waiter.called.is_set():
                self.give_back_place()  # cancelled after it got a place: the place goes to the next call
            else:
                queue.remove(waiter)
                if not queue:
                    del self._waiters[tenant]
            raise

    def give_back_place(self) -> None:
        """Gives a place to the next waiting call, or makes it free when no call waits."""
        if not self._waiters:
            self._free += 1
            return
        tenant = next(iter(self._waiters))
        queue = self._waiters.pop(tenant)
        queue.popleft().called.set()
        if queue:
            self._waiters[tenant] = queue  # this tenant is now the last in turn
