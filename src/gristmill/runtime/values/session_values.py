"""Offers the record of a session."""

from gristmill.session.session_register import HANDLE_LETTERS, SHORT_HANDLE_LETTERS, SessionRecord

__all__ = ["HANDLE_LETTERS", "SHORT_HANDLE_LETTERS", "SessionRecord"]
