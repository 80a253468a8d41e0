# pyright: basic
"""Notes about a run for its caller: codes that the host knows and puts into words, never text of the program."""

RUN_NOTES: set[str] = set()
"""The codes of the run in progress."""


def take_notes() -> list[str]:
    """Returns the codes, and forgets them."""
    codes = sorted(RUN_NOTES)
    RUN_NOTES.clear()
    return codes
