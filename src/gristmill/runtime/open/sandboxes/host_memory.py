"""Offers the memory that this process may use, from which doors choose their limits."""

from gristmill.sandbox.linux.cgroups import read_available_memory

__all__ = ["read_available_memory"]
