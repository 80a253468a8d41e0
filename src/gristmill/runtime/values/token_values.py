"""Offers the records of the token accounts."""

from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution

__all__ = ["SpentCall", "SpentExecution"]
