"""Shortens foreign text to one line. Separate from the table of errors (mcp/translate_errors.py), which needs the MCP SDK."""

_LONGEST_LINE = 500


def shorten_to_line(text: str) -> str:
    """Returns the text on one line, cut to a length that fits a table."""
    return " ".join(text.split())[:_LONGEST_LINE]
