"""The JSON bodies of the routes about rollouts and feedback."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0, le=2**53)]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


class _Out(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class StepAsked(_In):
    """A step of the rollout."""

    step: Literal["start", "advance", "hold", "back", "rollback"]
    """`back` goes one stage back and holds there."""
    reason: str = Field(default="", max_length=1_000)
    """Why, for the history."""
    version: int | None = Field(default=None, ge=0, le=2**31 - 1)
    """Take the step only if the rollout still has this version."""


class FeedbackAsked(_In):
    """What a user says about an answer."""

    id: Id
    """The id of the execution or of the turn, or the name of the conversation, whose last turn is meant then."""
    thumb: Literal["up", "down"] | None = None
    complaint: bool = False
    """Whether it is a complaint: guardrails count those."""
    accuracy: float | None = Field(default=None, ge=0, le=1)
    """How right the answer was, from 0 to 1, where a person or a program judges it."""
    comment: str = Field(default="", max_length=2_000)


class OutcomeAsked(_In):
    """What came of a turn of a conversation that a program of your own leads, with the arm that `/rollout/arm` gave."""

    id: Id
    """Your id of the turn; the same id is counted once."""
    conversation: Id
    user: Id | None = None
    """Your user, if one token serves many: as given to `/rollout/arm`."""
    session: Id | None = None
    status: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[a-z0-9_.]+$")] = "ok"
    """`ok`, or the class of the error."""
    seconds: float = Field(ge=0, le=86_400)
    first_seconds: float | None = Field(default=None, ge=0, le=86_400)
    """Seconds until the first token."""
    tokens_in: Count = 0
    tokens_out: Count = 0
    tokens_cached: Count = 0
    dollars: float = Field(default=0.0, ge=0, le=1e6)
    used_code: bool = False
    approvals: int = Field(default=0, ge=0, le=10_000)
    fallbacks: int = Field(default=0, ge=0, le=10_000)
    repairs: int = Field(default=0, ge=0, le=10_000)
    accuracy: float | None = Field(default=None, ge=0, le=1)


class ArmView(_Out):
    """The arm of a caller, and what it means for a chat."""

    rollout: str
    arm: str
    mode: str
    model: str | None = None
    prompt: str | None = None
    reason: Literal["assigned", "override", "flag", "off"]
    """`off`: everybody has the old arm now."""
    version: int
    """Of the rollout; it grows with every step."""


class RolloutView(_Out):
    """Where the rollout stands, with its guardrails and its history."""

    name: str
    standing: Literal["idle", "running", "held", "rolled_back"]
    stage: int
    percent: float
    version: int
    started: float
    changed: float
    by: str
    reason: str
    enabled: bool
    next_at: float | None
    stages: list[dict[str, Any]]
    guardrails: list[dict[str, Any]]
    """Each guardrail and new arm: the figure now, the interval that holds the true one, the limit."""
    steps: list[dict[str, Any]]
    """The newest first, with who, why and which numbers."""


class ArmReportView(_Out):
    """The arms of one stage side by side."""

    rollout: str
    since: float
    until: float
    percent: float
    confidence: float
    arms: list[dict[str, Any]]
    differences: list[dict[str, Any]]
    """Each figure with its difference and the interval of the true one. `verdict` is `better` or `worse` only where chance cannot
    explain it; `needed` says how many more conversations would show it."""
