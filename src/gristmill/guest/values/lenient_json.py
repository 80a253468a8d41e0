# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Lets ``json.loads`` take a result that is parsed already: it is given back, and the caller is told."""

import functools
import json
import typing

from gristmill.guest.calls.pending_call import PendingCall
from gristmill.guest.values.run_notes import RUN_NOTES

_load_text = json.loads


@functools.wraps(_load_text)
def load_json(s: typing.Any, **options: typing.Any) -> typing.Any:
    """Parses JSON text. A value that is parsed already is returned as it is."""
    if type(s) is PendingCall:
        s = s.result()
    if isinstance(s, dict | list | int | float):
        RUN_NOTES.add("parsed_twice")
        return s
    return _load_text(s, **options)


def install_lenient_json() -> None:
    """Replaces ``json.loads`` for programs."""
    json.loads = load_json
