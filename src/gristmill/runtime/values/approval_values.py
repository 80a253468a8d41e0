"""Offers the plan that waits for a person, with what was decided about it."""

from gristmill.guard.policy.approvals import Approval, offer_rules
from gristmill.guard.policy.standing_rules import RuleScope, StandingRule

__all__ = ["Approval", "RuleScope", "StandingRule", "offer_rules"]
