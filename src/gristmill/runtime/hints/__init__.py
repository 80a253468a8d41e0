"""Hints: what to change in a program that failed, from one table of failures."""
