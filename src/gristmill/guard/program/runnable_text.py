"""Refuses code that cannot be run at all: empty, too large or not text. It is no protection; that is the sandbox's task."""

from gristmill.errors import CodeRefused
from gristmill.model import MOST_CODE_CHARACTERS


def check_runnable_text(code: str) -> None:
    """Refuses code that no interpreter could run.

    Raises:
        CodeRefused: the code is empty, too large, or not text.
    """
    if not code.strip():
        raise CodeRefused("there is no code to run", rule="code.empty")
    if len(code) > MOST_CODE_CHARACTERS:
        raise CodeRefused(
            f"the code has {len(code):,} characters, more than {MOST_CODE_CHARACTERS:,}: put data into a file of the workspace",
            rule="code.size",
        )
    if "\0" in code:
        raise CodeRefused(f"the code holds a NUL character at position {code.index(chr(0)):,}", rule="code.nul")
    try:
        code.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CodeRefused(
            f"the code holds a lone surrogate at position {error.start:,}, which is not text", rule="code.text"
        ) from None
