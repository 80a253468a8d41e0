"""What a search found, and tools in full, on their way out: for a person, or as JSON."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gristmill.serve.cli.terminal.safe_output import print_json, print_text, stderr

if TYPE_CHECKING:
    from gristmill.catalog.search.search_hits import Hit
    from gristmill.runtime.tools.search_answers import Described, Found


def print_found(found: "Found", *, json: bool) -> None:
    """Print it, at once."""
    if json:
        print_json({"query": found.query, "hits": [_fields(hit) for hit in found.hits], "text": found.text})
    elif found.text:
        print_text(found.text)
    else:
        stderr().print("nothing fits; `gristmill tools` shows what there is")
    sys.stdout.flush()  # what is kept for the next time is nothing to wait for


def print_described(described: "Described", *, json: bool) -> None:
    """Print tools in full."""
    if json:
        print_json({"tools": [{"key": tool.key, **asdict(tool)} for tool in described.tools], "text": described.text})
    else:
        print_text(described.text)
    sys.stdout.flush()


def _fields(hit: "Hit") -> dict[str, Any]:
    tool = hit.tool
    return {
        "key": tool.key,
        "score": round(hit.score, 3),
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }
