"""Where runs and turns of a chat get their arm of a rollout from: from the layer that knows rollouts, which a door puts in."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gristmill.model import Identity, Json
from gristmill.runs.active_run import ActiveRun


class TurnArm(Struct, frozen=True, kw_only=True):
    """The arm of one turn of a chat. A conversation that goes on keeps its mode, so it has none here."""

    rollout: str
    arm: str
    off: bool = False
    """Whether the rollout does not run: the turn has the old arm, and says nothing about it."""
    mode: str | None = None
    model: str | None = None
    prompt: str | None = None
    """What replaces the instructions of the chat."""
    unit: str = ""
    compared: bool = False

    def to_kept(self) -> dict[str, Json]:
        """Returns what a conversation keeps of its arm, so that any process can go on with it."""
        return {"rollout": self.rollout, "arm": self.arm, "off": self.off, "unit": self.unit, "compared": self.compared}


class TurnFigures(Struct, frozen=True, kw_only=True):
    """What came of one turn."""

    conversation: str
    turn: int
    status: str
    failed: bool
    seconds: float
    first_seconds: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    dollars: float = 0.0
    programs: int = 0
    approvals: int = 0
    fallback: bool = False


class RunArms:
    """Gives no run an arm: there is no rollout."""

    is_on = False
    """Whether a rollout is configured."""

    async def choose_arm(self, run: ActiveRun) -> str | None:  # noqa: ARG002
        """Returns the arm of a run whose turn has come; None if it has none."""
        return None

    def note_end(self, run: ActiveRun) -> None:
        """Notes what came of a run that has ended."""

    async def choose_turn(self, identity: Identity, conversation: str | None) -> TurnArm | None:  # noqa: ARG002
        """Returns the arm of a turn: of a new conversation by its user, of another one as it was; None if it has none."""
        return None

    def restore_turn(self, kept: Mapping[str, Any]) -> TurnArm | None:  # noqa: ARG002
        """Returns the arm that a conversation has kept; None if it has none, or the rollout is another one by now."""
        return None

    def note_turn(self, arm: TurnArm, identity: Identity, made: TurnFigures) -> None:
        """Notes what came of a turn that has ended."""
