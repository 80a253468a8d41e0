"""Chooses which interpreter makes room for others: one of the tenant that holds most, so that no tenant evicts another."""

from collections.abc import Sequence

from msgspec import Struct


class HeldInterpreter(Struct, frozen=True, kw_only=True):
    """An interpreter that a session keeps. ``share`` names its tenant, ``weight`` is what is counted: 1, or its memory."""

    name: str
    share: str
    used: float
    is_idle: bool
    weight: float = 1


def choose_evicted(held: Sequence[HeldInterpreter], most: float) -> str | None:
    """Returns the name of the interpreter to drop next, so that all together weigh at most ``most``.

    It belongs to the tenant that holds most among those above their fair share, and is the one which that tenant used longest
    ago. Returns None if all fit, or if what should be dropped is in use: then it is dropped later.
    """
    weights: dict[str, float] = {}
    for each in held:
        weights[each.share] = weights.get(each.share, 0) + each.weight
    if sum(weights.values()) <= most:
        return None
    fair = most / len(weights)
    candidates = [each for each in held if each.is_idle and weights[each.share] > fair]
    return min(candidates, key=lambda each: (-weights[each.share], each.used)).name if candidates else None
