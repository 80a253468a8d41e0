"""Foreign text on one line, cut to a length that fits a table. Apart from the table of errors, which needs the MCP SDK."""

_LONGEST = 500


def one_line(text: str) -> str:
    """The text on one line, cut to a length that fits a table."""
    return " ".join(text.split())[:_LONGEST]
