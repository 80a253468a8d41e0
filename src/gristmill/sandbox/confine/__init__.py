"""Confines the programs of tool servers."""
