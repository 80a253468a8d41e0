"""Calls of a program on their way out, and their results."""
