"""Shortens JSON values."""
