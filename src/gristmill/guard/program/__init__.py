"""Checks a program before it runs: unknown names, wrong arguments, modules that are missing or not allowed."""
