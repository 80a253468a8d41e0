"""Rankers: each gives every tool a score for a question."""
