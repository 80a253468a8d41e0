"""Converts learned shapes to JSON Schema, which the typed modules show, and to JSON and back, which is stored."""

from collections.abc import Mapping

from gristmill.catalog.learned.result_shapes import LearnedResult, ResultShape
from gristmill.catalog.modules.tool_module import LearnedResultType
from gristmill.loose_json import as_mapping
from gristmill.model import Json

FORMAT = 2
"""Increased when saved shapes change their meaning; those of a format that is not known are learned anew."""
MIN_STATES_SEEN = 20
MAX_DEPTH = 24


def make_learned_type(learned: LearnedResult) -> LearnedResultType:
    """Returns the learned type in the form that the module generator takes."""
    return LearnedResultType(schema=build_learned_schema(learned.shape), calls=learned.calls)


def build_learned_schema(shape: ResultShape) -> dict[str, Json]:
    """Returns a JSON Schema that every result seen so far satisfies."""
    kinds = [kind for kind in shape.kinds if not (kind == "integer" and "number" in shape.kinds)]
    schema: dict[str, Json] = {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}
    if "object" in kinds:
        schema.update(_build_object_keywords(shape))
    if "array" in kinds:
        schema["items"] = build_learned_schema(shape.items) if shape.items else {}
    if shape.content:
        schema["description"] = "JSON as text"
        schema["contentMediaType"] = "application/json"
        schema["contentSchema"] = build_learned_schema(shape.content)
    if kinds == ["string"] and (states := _list_states(shape)):
        schema["enum"] = states
    return schema


def learned_to_json(learned: LearnedResult) -> dict[str, Json]:
    """Returns ``learned`` as JSON."""
    return {"calls": learned.calls, "shape": _shape_to_json(learned.shape)}


def learned_from_json(value: Json) -> LearnedResult:
    """Reverses `learned_to_json`; parts that are not understood count as not learned."""
    calls = as_mapping(value).get("calls")
    return LearnedResult(calls=calls if isinstance(calls, int) else 0, shape=_shape_from_json(as_mapping(value).get("shape")))


def pack_entries(entries: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the content of the file that holds ``entries``, one per tool."""
    return {"format": FORMAT, "tools": dict(entries)}


def unpack_entries(content: Json) -> Mapping[str, Json]:
    """Reverses `pack_entries`; nothing where the format is not known."""
    kept = as_mapping(content)
    if "format" not in kept:
        return kept  # 0.1.0 saved the bare entries; a tool's key has a dot, so none is called "format"
    return as_mapping(kept.get("tools")) if kept["format"] == FORMAT else {}


def _build_object_keywords(shape: ResultShape) -> dict[str, Json]:
    if shape.values is not None:
        return {"additionalProperties": build_learned_schema(shape.values)}
    objects = shape.kinds["object"]
    required = [name for name, inner in shape.fields.items() if sum(inner.kinds.values()) >= objects]
    properties = {name: build_learned_schema(inner) for name, inner in shape.fields.items()}
    return {"properties": properties, "required": required} if properties else {}


def _list_states(shape: ResultShape) -> list[str] | None:
    """Returns the states seen, once each of them was seen often enough: a list that is too short would mislead."""
    counts = shape.states or {}
    often = sum(counts.values()) >= MIN_STATES_SEEN and all(count >= 3 for count in counts.values())
    return sorted(counts) if often and len(counts) > 1 else None


def _shape_to_json(shape: ResultShape) -> dict[str, Json]:
    found: dict[str, Json] = {"kinds": dict(shape.kinds)}
    if shape.fields:
        found["fields"] = {name: _shape_to_json(inner) for name, inner in shape.fields.items()}
    for place in ("values", "items", "content"):
        inner: ResultShape | None = getattr(shape, place)
        if inner is not None:
            found[place] = _shape_to_json(inner)
    if shape.states is not None:
        found["states"] = dict(shape.states)
    return found


def _shape_from_json(value: Json, depth: int = 0) -> ResultShape:
    found = as_mapping(value)
    if depth > MAX_DEPTH:
        return ResultShape()

    def read_inner(place: str) -> ResultShape | None:
        return _shape_from_json(found[place], depth + 1) if isinstance(found.get(place), dict) else None

    return ResultShape(
        kinds=_read_counts(found.get("kinds")),
        fields={name: _shape_from_json(part, depth + 1) for name, part in as_mapping(found.get("fields")).items()},
        values=read_inner("values"),
        items=read_inner("items"),
        content=read_inner("content"),
        states=_read_counts(found["states"]) if isinstance(found.get("states"), dict) else None,
    )


def _read_counts(value: Json) -> Mapping[str, int]:
    return {key: count for key, count in as_mapping(value).items() if isinstance(count, int)}
