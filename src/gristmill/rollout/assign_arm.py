"""Decides who gets which arm: a stable hash, so that nobody moves when a stage grows, and no process has to remember anyone."""

import hashlib
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from gristmill.config.sections.rollout_section import RolloutConfig
from gristmill.model import Identity

Reason = Literal["assigned", "override", "flag", "off"]
"""Why somebody has an arm. Only ``assigned`` and ``flag`` are compared: people who were picked are not like the others."""


class Asker(Struct, frozen=True, kw_only=True):
    """Who asks for an arm: a caller of a tenant, a session, and the caller's own user where one caller serves many."""

    identity: Identity
    session: str | None = None
    user: str | None = None


class ArmChoice(Struct, frozen=True, kw_only=True):
    """The arm of one asker, with what it means for a chat."""

    rollout: str
    arm: str
    reason: Reason
    unit: str
    """A digest of who stays in the arm; it is stored with outcomes, and names nobody."""
    mode: str
    model: str | None = None
    prompt: str | None = None
    stage: int = 0
    version: int = 0

    @property
    def is_compared(self) -> bool:
        """Returns whether its outcomes count in comparisons and guardrails."""
        return self.reason in ("assigned", "flag")


def name_unit(config: RolloutConfig, asker: Asker) -> str:
    """Returns a digest of who stays in one arm: the user, the tenant or the session."""
    who = asker.identity
    if config.by == "tenant":
        parts: tuple[str, ...] = (who.tenant,)
    elif config.by == "session" and asker.session is not None:
        parts = (who.tenant, who.caller, asker.user or "", asker.session)
    else:
        parts = (who.tenant, who.caller, asker.user or "")
    text = "\x1f".join((config.name, config.by, *parts))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def draw_numbers(config: RolloutConfig, unit: str) -> tuple[float, float]:
    """Returns two independent numbers in [0, 1) that are always the same for this unit, rollout and salt."""
    text = f"{config.name}\x1f{config.salt}\x1f{unit}"
    drawn = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=b"gristmill arms").digest()
    return tuple(int.from_bytes(half) / 2**64 for half in (drawn[:8], drawn[8:]))  # pyright: ignore[reportReturnType]


def draw_arm(config: RolloutConfig, unit: str, percent: float) -> str:
    """Returns the arm of a unit while ``percent`` of all have a new arm: one number says if, the other which.

    Who has a new arm keeps it while ``percent`` grows, because only the first number is compared with it.
    """
    share, which = draw_numbers(config, unit)
    if share >= percent / 100:
        return config.baseline
    weights = {name: arm.weight for name, arm in config.arms.items() if name != config.baseline}
    return _pick_by_weight(weights, which)


def find_override(config: RolloutConfig, asker: Asker) -> str | None:
    """Returns the arm that the configuration gives to this user, group or tenant; the most exact one counts."""
    names = {name for name in (asker.user, asker.identity.caller) if name is not None}
    for name in (asker.user, asker.identity.caller):
        if name is not None and name in config.users:
            return config.users[name]
    for group in config.groups.values():
        if names.intersection(group.users):
            return group.arm
    return config.tenants.get(asker.identity.tenant)


def compute_weight_percent(config: RolloutConfig) -> float:
    """Returns the percent of the new arms by the weights of all arms, for a rollout without stages."""
    total = sum(arm.weight for arm in config.arms.values())
    return 100 * (total - config.arms[config.baseline].weight) / total


def _pick_by_weight(weights: Mapping[str, float], number: float) -> str:
    left, names = number * sum(weights.values()), tuple(weights)
    for name in names[:-1]:
        left -= weights[name]
        if left < 0:
            return name
    return names[-1]
