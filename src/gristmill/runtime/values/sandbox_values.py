"""Offers the protocols that a sandbox backend fulfils."""

from gristmill.sandbox.base import Pool, Sandbox

__all__ = ["Pool", "Sandbox"]
