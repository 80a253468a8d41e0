"""Puts the notes of a run into words: what the sandbox did for the program that its author should know."""

from collections.abc import Sequence

from gristmill.model import RunNote

_SENT_AS: dict[RunNote, str] = {
    "sent:dataclass": "dataclasses as objects",
    "sent:date": "dates and times as ISO 8601 text",
    "sent:decimal": "decimal numbers as text or number",
    "sent:enum": "enum members as their values",
    "sent:numpy": "values of numpy and pandas as plain ones",
    "sent:path": "paths as text",
    "sent:pydantic": "pydantic models as objects",
    "sent:sequence": "iterables as lists",
    "sent:set": "sets as sorted lists",
    "sent:table": "tables as lists of rows",
    "sent:uuid": "UUIDs as text",
}


def explain_notes(notes: Sequence[RunNote]) -> tuple[str, ...]:
    """Returns the notes as lines of advice."""
    if not notes:
        return ()
    lines = (
        ["json.loads got a value that is parsed already and gave it back: use results as they are"]
        if "parsed_twice" in notes
        else []
    )
    if "not_shown" in notes:
        lines.append(
            "some pictures or tables are not shown: at most 8, of 1,000,000 bytes (50,000 characters of HTML) each, and together "
            "no more than result_bytes"
        )
    sent = [words for note, words in _SENT_AS.items() if note in notes]
    if sent:
        lines.append(f"arguments that JSON has no form for were converted: {', '.join(sent)}")
    return tuple(lines)
