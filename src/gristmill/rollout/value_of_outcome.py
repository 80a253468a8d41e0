"""The figures of one outcome in Python, as ``measures`` has them in SQL; a test compares the two."""

from collections.abc import Callable

from gristmill.rollout.arm_outcomes import ArmOutcome
from gristmill.rollout.measures import Measure

_VALUES: dict[str, Callable[[ArmOutcome], float | None]] = {
    "error_rate": lambda made: float(made.failed),
    "accuracy": lambda made: made.accuracy,
    "complaint_rate": lambda made: float(made.complaints > 0),
    "fallback_rate": lambda made: float(made.fallbacks > 0),
    "repair_rate": lambda made: float(made.repairs > 0),
    "approval_rate": lambda made: float(made.approvals > 0),
    "code_rate": lambda made: float(made.used_code),
    "tokens": lambda made: float(made.tokens_in + made.tokens_out),
    "tokens_in": lambda made: float(made.tokens_in),
    "tokens_out": lambda made: float(made.tokens_out),
    "cached_share": lambda made: made.tokens_cached / made.tokens_in if made.tokens_in else None,
    "dollars": lambda made: made.dollars,
    "seconds": lambda made: made.seconds,
    "complaints": lambda made: float(made.complaints),
    "token_reduction": lambda made: float(made.tokens_in + made.tokens_out),
    "estimated_reduction": lambda made: (
        1 - (made.tokens_in + made.tokens_out) / made.direct_tokens if made.direct_tokens else None
    ),
}


def read_value(made: ArmOutcome, measure: Measure) -> float | None:
    """Returns the figure of a conversation that is this one outcome; None where it has none."""
    if measure.above is not None:
        seconds = getattr(made, measure.about.column)
        return None if seconds is None else float(seconds > measure.above)
    return _VALUES[measure.name](made)
