"""Remembers how much disk the files of each session use, and measures again what was used since."""

import time
from collections import OrderedDict
from collections.abc import Callable

RECENT_SECONDS = 300.0
"""How long after its last use a session's files are measured anew: a program may write long after it was let in."""
MOST_MEASURED = 100_000
"""How many sizes are remembered; a forgotten one is measured again."""


class UsedDisk:
    """The sizes of sessions by their keys. ``measure`` returns the bytes of a key; it may take long, so use this in a thread."""

    def __init__(self, measure: Callable[[str], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._measure, self._clock = measure, clock
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._uses: OrderedDict[str, tuple[float, str]] = OrderedDict()

    def note_use(self, key: str, tenant: str) -> None:
        """Notes that the session with that key is used now."""
        self._uses[key] = (self._clock(), tenant)
        self._uses.move_to_end(key)
        while len(self._uses) > MOST_MEASURED:
            self._uses.popitem(last=False)

    def list_recent_tenants(self) -> frozenset[str]:
        """Returns the tenants that have used sessions lately, and forgets older uses."""
        since = self._clock() - RECENT_SECONDS
        while self._uses and next(iter(self._uses.values()))[0] < since:
            key, _ = self._uses.popitem(last=False)
            self._sizes.pop(key, None)
        return frozenset(tenant for _, tenant in self._uses.values())

    def read_size(self, key: str) -> int:
        """Returns the bytes of a key, measured now if it was used lately or is not known."""
        known = self._sizes.get(key)
        if known is None or key in self._uses:
            known = self._sizes[key] = self._measure(key)
            self._sizes.move_to_end(key)
            while len(self._sizes) > MOST_MEASURED:
                self._sizes.popitem(last=False)
        return known
