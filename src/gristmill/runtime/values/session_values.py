"""Offers the record of a session."""

from gristmill.session.session_register import SessionRecord

__all__ = ["SessionRecord"]
