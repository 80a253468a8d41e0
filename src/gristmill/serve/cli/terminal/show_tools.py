"""Prints search results and full tool descriptions, as text or as JSON."""

from typing import Any

from msgspec import to_builtins

from gristmill.runtime.tools.search_answers import DescribedTools, SearchAnswer
from gristmill.runtime.values.search_values import SearchHit
from gristmill.serve.cli.terminal.safe_output import print_json, print_text, stderr


def print_found(found: SearchAnswer, *, json: bool) -> None:
    """Prints a search answer."""
    if json:
        print_json({"query": found.query, "hits": [_hit_to_json(hit) for hit in found.hits], "text": found.text})
    elif found.text:
        print_text(found.text)
    else:
        stderr().print("no tool fits; use other words, or list what there is with `gristmill tools`")


def print_described(described: DescribedTools, *, json: bool) -> None:
    """Prints the full descriptions of tools."""
    if json:
        print_json({"tools": [{"key": tool.key, **to_builtins(tool)} for tool in described.tools], "text": described.text})
    else:
        print_text(described.text)


def _hit_to_json(hit: SearchHit) -> dict[str, Any]:
    tool = hit.tool
    return {
        "key": tool.key,
        "score": round(hit.score, 3),
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }
