"""Offers the plan that waits for a person, with what was decided about it."""

from gristmill.guard.policy.approvals import Approval

__all__ = ["Approval"]
