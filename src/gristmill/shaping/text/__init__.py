"""Shortens printed text."""
