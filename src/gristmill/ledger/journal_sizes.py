"""Chooses which runs the journal gives up when it is full: those of the tenant that has most of it."""

from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct


class RunSize(Struct, frozen=True, kw_only=True):
    """The bytes that the runs of one root have in the journal, and when they last changed."""

    root: str
    tenant: str
    size: int
    changed: float


def choose_excess(runs: Sequence[RunSize], most: int) -> Iterator[str]:
    """Yields the roots to delete, so that the rest has at most ``most`` bytes: of the largest tenant, used longest ago first."""
    waiting: dict[str, deque[RunSize]] = {}
    for run in sorted(runs, key=lambda run: run.changed):
        waiting.setdefault(run.tenant, deque()).append(run)
    sizes = {tenant: sum(run.size for run in of_tenant) for tenant, of_tenant in waiting.items()}
    while sum(sizes.values()) > most:
        tenant = max(sizes, key=lambda tenant: sizes[tenant])
        run = waiting[tenant].popleft()
        sizes[tenant] -= run.size
        if not waiting[tenant]:
            del waiting[tenant], sizes[tenant]
        yield run.root
