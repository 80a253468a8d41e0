"""Finds the tools that a hit needs before it can be called: those that return an id, a place or a time which it requires."""

import re
from collections.abc import Iterable, Sequence

from gristmill.catalog.search.question_parts import read_verb_class
from gristmill.catalog.search.search_terms import extract_terms
from gristmill.catalog.types.loose_schema import list_result_fields, read_required_names
from gristmill.model import Tool

MOST_PREREQUISITES = 2
_ID = re.compile(r"^(?P<noun>.+?)[_-]?(?:id|Id|ID|ids|uuid|key|slug|number)$")
_PLACES = frozenset({"lat", "lon", "lng", "latitude", "longitude", "coordinates"})


def find_prerequisites(tool: Tool, tools: Sequence[Tool], known: Iterable[str] = ()) -> list[tuple[str, Tool]]:
    """Returns parameters that ``tool`` requires, each with the one of ``tools`` that returns it."""
    left_out, found = {tool.key, *known}, list[tuple[str, Tool]]()
    for name in sorted(read_required_names(tool)):
        if name.lower() in _PLACES:
            source = next((each for each in tools if "geocode" in each.name.lower() and each.key not in left_out), None)
        else:
            source = _find_source(tool, name, [each for each in tools if each.server == tool.server and each.key not in left_out])
        if source is not None and all(source is not other for _, other in found):
            found.append((name, source))
    return found[:MOST_PREREQUISITES]


def _find_source(tool: Tool, name: str, tools: Sequence[Tool]) -> Tool | None:
    """Returns the tool of the same server that returns ``name``: it declares such a field, or lists things of that noun."""
    matched = _ID.match(name)
    if matched is None:
        return None
    noun = set(extract_terms(matched["noun"]))
    if not noun or (noun <= set(extract_terms(tool.name)) and read_verb_class(tool) == "read" and "list" in tool.name.lower()):
        return None
    sources = [each for each in tools if read_verb_class(each) == "read" and name not in read_required_names(each)]
    declared = [each for each in sources if name in list_result_fields(each)]
    named = [each for each in sources if noun <= set(extract_terms(each.name))]
    # The tool with the fewest required parameters is the one that can be called first.
    return min(declared or named, key=lambda each: (len(read_required_names(each)), len(each.name), each.name), default=None)
