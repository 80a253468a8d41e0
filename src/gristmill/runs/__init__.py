"""Executions as doors see them, one layer for all doors: admission, turns, keys, events, questions, and what has ended."""
