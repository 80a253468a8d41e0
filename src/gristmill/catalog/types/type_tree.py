"""Types as values, between JSON Schema on one side and Python or TypeScript on the other. No rules live here."""

from typing import Literal

from gristmill.values import dataclass

Constant = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Plain:
    """A type without parts; ``any`` is everything, ``never`` is nothing."""

    name: Literal["any", "never", "string", "integer", "number", "boolean", "null"]


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these constants."""

    values: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of any length."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A list whose places have types of their own."""

    items: tuple["Type", ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object whose keys are data."""

    value: "Type"


@dataclass(frozen=True, slots=True)
class Union:
    """Any of two or more types."""

    members: tuple["Type", ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A reference to a `Record` of the same `Typed`, possibly one that refers back."""

    name: str


Type = Plain | OneOf | ListOf | TupleOf | MapOf | Union | Named


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One entry of a record, under the name the server gave it."""

    name: str
    type: Type
    required: bool
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An object whose keys are known."""

    name: str
    fields: tuple[Field, ...]


ANY = Plain("any")
NEVER = Plain("never")
NULL = Plain("null")
ANY_MAP = MapOf(ANY)


def union(members: list[Type]) -> Type:
    """The union of ``members``, flat, without repeats; ``any`` swallows all, ``null`` goes last."""
    flat: dict[Type, None] = {}
    for member in members:
        flat.update(dict.fromkeys(member.members if isinstance(member, Union) else (member,)))
    if ANY in flat:
        return ANY
    flat.pop(NEVER, None)
    flat = _join_constants(flat)
    if NULL in flat:
        flat[NULL] = flat.pop(NULL)
    found = tuple(flat)
    if len(found) == 1:
        return found[0]
    return Union(found) if found else NEVER


def _join_constants(flat: dict[Type, None]) -> dict[Type, None]:
    """Several `OneOf` become one, at the place of the first."""
    groups = [member for member in flat if isinstance(member, OneOf)]
    if len(groups) < 2:
        return flat
    # Keyed by type as well: True and 1 are equal in Python but not in JSON.
    values = {(type(value), value): value for group in groups for value in group.values}
    joined: dict[Type, None] = {}
    for member in flat:
        joined[OneOf(tuple(values.values())) if isinstance(member, OneOf) else member] = None
    return joined
