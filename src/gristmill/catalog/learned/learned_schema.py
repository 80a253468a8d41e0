"""Learned shapes → JSON Schema, so that the stubs can show them, and to JSON and back, so that they can be kept."""

from collections.abc import Mapping

from gristmill.catalog.learned.result_shapes import Learned, Shape
from gristmill.catalog.modules.tool_module import LearnedResult
from gristmill.catalog.types.schema_refs import mapping
from gristmill.model import Json

MIN_STATES_SEEN = 20
MAX_DEPTH = 24


def learned_result(learned: Learned) -> LearnedResult:
    """What the stub generator takes."""
    return LearnedResult(schema=learned_schema(learned.shape), calls=learned.calls)


def learned_schema(shape: Shape) -> dict[str, Json]:
    """A JSON Schema that everything seen so far satisfies."""
    kinds = [kind for kind in shape.kinds if not (kind == "integer" and "number" in shape.kinds)]
    schema: dict[str, Json] = {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}
    if "object" in kinds:
        schema.update(_object(shape))
    if "array" in kinds:
        schema["items"] = learned_schema(shape.items) if shape.items else {}
    if shape.content:
        schema["description"] = "JSON as text"
        schema["contentMediaType"] = "application/json"
        schema["contentSchema"] = learned_schema(shape.content)
    if kinds == ["string"] and (states := _states(shape)):
        schema["enum"] = states
    return schema


def learned_to_json(learned: Learned) -> dict[str, Json]:
    """``learned`` as JSON."""
    return {"calls": learned.calls, "shape": _to_json(learned.shape)}


def learned_from_json(value: Json) -> Learned:
    """The reverse of `learned_to_json`; what is not understood counts as not learned."""
    calls = mapping(value).get("calls")
    return Learned(calls=calls if isinstance(calls, int) else 0, shape=_from_json(mapping(value).get("shape")))


def _object(shape: Shape) -> dict[str, Json]:
    if shape.values is not None:
        return {"additionalProperties": learned_schema(shape.values)}
    objects = shape.kinds["object"]
    required = [name for name, inner in shape.fields.items() if sum(inner.kinds.values()) >= objects]
    properties = {name: learned_schema(inner) for name, inner in shape.fields.items()}
    return {"properties": properties, "required": required} if properties else {}


def _states(shape: Shape) -> list[str] | None:
    """The states seen, once each has been seen again and again: a list that is too short would mislead."""
    counts = shape.states or {}
    often = sum(counts.values()) >= MIN_STATES_SEEN and all(count >= 3 for count in counts.values())
    return sorted(counts) if often and len(counts) > 1 else None


def _to_json(shape: Shape) -> dict[str, Json]:
    found: dict[str, Json] = {"kinds": dict(shape.kinds)}
    if shape.fields:
        found["fields"] = {name: _to_json(inner) for name, inner in shape.fields.items()}
    for place in ("values", "items", "content"):
        inner: Shape | None = getattr(shape, place)
        if inner is not None:
            found[place] = _to_json(inner)
    if shape.states is not None:
        found["states"] = dict(shape.states)
    return found


def _from_json(value: Json, depth: int = 0) -> Shape:
    found = mapping(value)
    if depth > MAX_DEPTH:
        return Shape()

    def inner(place: str) -> Shape | None:
        return _from_json(found[place], depth + 1) if isinstance(found.get(place), dict) else None

    return Shape(
        kinds=_counts(found.get("kinds")),
        fields={name: _from_json(part, depth + 1) for name, part in mapping(found.get("fields")).items()},
        values=inner("values"),
        items=inner("items"),
        content=inner("content"),
        states=_counts(found["states"]) if isinstance(found.get("states"), dict) else None,
    )


def _counts(value: Json) -> Mapping[str, int]:
    return {key: count for key, count in mapping(value).items() if isinstance(count, int)}
