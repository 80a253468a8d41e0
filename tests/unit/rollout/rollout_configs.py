"""Configurations and outcomes of rollouts for tests."""

from typing import Any

from gristmill.config.sections.rollout_section import RolloutConfig
from gristmill.model import Identity
from gristmill.rollout.arm_outcomes import ArmOutcome

ARMS: dict[str, Any] = {"direct": {"mode": "direct"}, "code": {"mode": "code"}}
STAGES = [{"percent": 10, "for": "1h"}, {"percent": 25, "for": "1h"}, {"percent": 50, "for": "1h"}, {"percent": 100}]


def make_config(**given: Any) -> RolloutConfig:
    """A rollout from direct calls to code in four stages, with what is ``given`` instead."""
    return RolloutConfig.model_validate({"name": "try-code", "arms": ARMS, "stages": STAGES, **given})


def make_outcome(number: int, arm: str = "code", **given: Any) -> ArmOutcome:
    """One outcome of its own conversation."""
    fields: dict[str, Any] = {
        "id": f"{arm}-{number}", "rollout": "try-code", "arm": arm, "unit": f"u{number}", "conversation": f"{arm}-{number}",
        "identity": Identity(caller=f"user{number}"), "at": float(number),
    }  # fmt: skip
    return ArmOutcome(**{**fields, **given})
