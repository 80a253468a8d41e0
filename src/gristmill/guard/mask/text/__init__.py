"""Positions and characters of a text that is masked."""
