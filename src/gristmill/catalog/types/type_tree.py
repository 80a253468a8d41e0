"""Types as values, between JSON Schema on one side and Python or TypeScript on the other. No conversion rules live here."""

from typing import Literal

from msgspec import Struct

Constant = str | int | bool | None


class PlainType(Struct, frozen=True):
    """A type without parts; ``any`` allows every value, ``never`` allows none."""

    name: Literal["any", "never", "string", "integer", "number", "boolean", "null"]


class OneOf(Struct, frozen=True):
    """A type that allows only these constants."""

    values: tuple[Constant, ...]


class ListOf(Struct, frozen=True):
    """A list of any length."""

    item: "Type"


class TupleOf(Struct, frozen=True):
    """A list in which each place has its own type."""

    items: tuple["Type", ...]


class MapOf(Struct, frozen=True):
    """An object whose keys are data."""

    value: "Type"


class UnionType(Struct, frozen=True):
    """Any of two or more types."""

    members: tuple["Type", ...]


class NamedType(Struct, frozen=True):
    """A reference to a `RecordType` of the same `TypedSchema`, possibly one that refers back."""

    name: str


Type = PlainType | OneOf | ListOf | TupleOf | MapOf | UnionType | NamedType


class RecordField(Struct, frozen=True, kw_only=True):
    """One field of a record, under the name that the server gave it."""

    name: str
    type: Type
    required: bool
    doc: str = ""


class RecordType(Struct, frozen=True, kw_only=True):
    """An object whose keys are known."""

    name: str
    fields: tuple[RecordField, ...]


ANY = PlainType("any")
NEVER = PlainType("never")
NULL = PlainType("null")
ANY_MAP = MapOf(ANY)


def make_union(members: list[Type]) -> Type:
    """Returns the union of ``members``, flat and without repeats; ``any`` absorbs all others, ``null`` goes last."""
    flat: dict[Type, None] = {}
    for member in members:
        flat.update(dict.fromkeys(member.members if isinstance(member, UnionType) else (member,)))
    if ANY in flat:
        return ANY
    flat.pop(NEVER, None)
    flat = _join_constants(flat)
    if NULL in flat:
        flat[NULL] = flat.pop(NULL)
    found = tuple(flat)
    if len(found) == 1:
        return found[0]
    return UnionType(found) if found else NEVER


def _join_constants(flat: dict[Type, None]) -> dict[Type, None]:
    """Joins several `OneOf` into one, at the place of the first."""
    groups = [member for member in flat if isinstance(member, OneOf)]
    if len(groups) < 2:
        return flat
    # Keyed by type as well: True and 1 are equal in Python but not in JSON.
    values = {(type(value), value): value for group in groups for value in group.values}
    joined: dict[Type, None] = {}
    for member in flat:
        joined[OneOf(tuple(values.values())) if isinstance(member, OneOf) else member] = None
    return joined
