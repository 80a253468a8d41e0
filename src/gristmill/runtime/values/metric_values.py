"""Offers the metrics and the figures that they are given."""

from gristmill.ledger.metrics import GuardrailFigures, NoMetrics

__all__ = ["GuardrailFigures", "NoMetrics"]
