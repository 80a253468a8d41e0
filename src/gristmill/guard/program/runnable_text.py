"""Code, before it runs: a courtesy, not a wall. Only what cannot be run at all is refused here."""

from gristmill.errors import CodeRefused

CODE_BYTES = 1_000_000


def check(code: str) -> None:
    """Refuse what no interpreter could run.

    Raises:
        CodeRefused: it is empty, too large, or not text.
    """
    if not code.strip():
        raise CodeRefused("there is no code to run", rule="code.empty")
    if len(code) > CODE_BYTES:
        raise CodeRefused(
            f"the code has {len(code):,} characters, more than {CODE_BYTES:,}: put data into a file of the workspace",
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
