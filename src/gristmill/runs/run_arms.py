"""Where runs get their arm of a rollout from: from the layer that knows rollouts, which a door puts in."""

from gristmill.runs.active_run import ActiveRun


class RunArms:
    """Gives no run an arm: there is no rollout."""

    async def choose_arm(self, run: ActiveRun) -> str | None:  # noqa: ARG002
        """Returns the arm of a run whose turn has come; None if it has none."""
        return None

    def note_end(self, run: ActiveRun) -> None:
        """Notes what came of a run that has ended."""
