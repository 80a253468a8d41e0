"""Places, and tenants who wait for one in turn: who sends a thousand calls delays another by one, not by a thousand."""

from collections import deque
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True, eq=False)
class _Ticket:
    """Somebody who waits."""

    called: anyio.Event = field(default_factory=anyio.Event)


class Turns:
    """``places`` at the same time; one line of waiting per tenant, served in turn."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._lines: dict[str, deque[_Ticket]] = {}

    def take(self) -> bool:
        """Take a free place, if there is one; then nobody waits."""
        if not self._free:
            return False
        self._free -= 1
        return True

    async def wait(self, tenant: str) -> None:
        """Wait until a place is free and it is the turn of ``tenant``."""
        ticket = _Ticket()
        line = self._lines.setdefault(tenant, deque())
        line.append(ticket)
        try:
            await ticket.called.wait()
        except BaseException:
            if ticket.called.is_set():
                self.leave()  # called and gone at once: the next one has the place
            else:
                line.remove(ticket)
                if not line:
                    del self._lines[tenant]
            raise

    def leave(self) -> None:
        """Give a place back, or on to whose turn it is."""
        if not self._lines:
            self._free += 1
            return
        tenant = next(iter(self._lines))
        line = self._lines.pop(tenant)
        line.popleft().called.set()
        if line:
            self._lines[tenant] = line  # at the end of the tenants
