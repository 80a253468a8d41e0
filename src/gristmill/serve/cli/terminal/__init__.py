"""Reads from and prints to a terminal, for all verbs."""
