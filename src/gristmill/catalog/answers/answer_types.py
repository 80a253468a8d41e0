"""Writes the types of the tools of one answer: short, two levels deep, and a record that occurs several times once, by name."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from msgspec import Struct

from gristmill.catalog.modules.tool_module import ToolStub
from gristmill.catalog.types.type_tree import (
    ANY,
    ListOf,
    MapOf,
    NamedType,
    OneOf,
    PlainType,
    RecordType,
    TupleOf,
    Type,
    UnionType,
)

LEVELS = 2
"""How deep a record is written; what lies deeper is a ``dict``."""
MOST_FIELDS = 24
MOST_VALUES = 8
SHORTEST_SHARED = 24
"""Letters of a record that is worth a name: shorter ones are written where they stand."""
_DEEPEST = 6
_PLAIN = {"any": "Any", "never": "Never", "string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_VERB = re.compile(
    r"^(?:Get|List|Find|Search|Fetch|Read|Create|Update|Modify|Add|Delete|Set|Show|Retrieve|Exchange|Cancel|Return)(?=[A-Z])"
)
_FIELD = re.compile(r"[A-Za-z_$@][\w$@:-]*")

Records = Mapping[str, RecordType]


class WrittenTypes(Struct, frozen=True, kw_only=True):
    """The parameters and the result of a tool as text, and the lines that define the records they name."""

    parameters: Mapping[str, str]
    result: str
    lines: tuple[str, ...] = ()


def write_plain_types(stub: ToolStub) -> WrittenTypes:
    """Writes types without the fields of records."""
    parameters = {each.python: _TypeWriter({}, {}).write(each.type, LEVELS) for each in stub.parameters.known}
    return WrittenTypes(parameters=parameters, result=_TypeWriter({}, {}).write(stub.result.type, LEVELS))


class AnswerTypes:
    """The names that records have in one answer: those that the tools written in full share."""

    def __init__(self, stubs: Sequence[ToolStub]) -> None:
        self._names = _name_shared(stubs)
        self._defined: set[str] = set()

    def write(self, stub: ToolStub) -> WrittenTypes:
        """Writes the types of one tool; a shared record is defined by the first tool that names it."""
        writer = _TypeWriter(_index_records(stub), self._names)
        parameters = {each.python: writer.write(each.type, 0) for each in stub.parameters.known}
        result = writer.write(stub.result.type, 0)
        lines: list[str] = []
        while missing := [name for name in writer.used if name not in self._defined]:
            self._defined.update(missing)
            lines += [f"{name} = {writer.write_body(writer.used[name], 0)}" for name in missing]
        return WrittenTypes(parameters=parameters, result=result, lines=tuple(lines))


class _TypeWriter:
    def __init__(self, records: Records, names: Mapping[str, str]) -> None:
        self._records, self._names = records, names
        self.used: dict[str, RecordType] = {}

    def write(self, kind: Type, level: int) -> str:  # one line per kind of type
        match kind:
            case PlainType():
                return _PLAIN[kind.name]
            case OneOf():
                values = ", ".join(map(ascii, kind.values[:MOST_VALUES]))
                return f"Literal[{values}]" if len(kind.values) <= MOST_VALUES else f"Literal[{values}, ...]"
            case ListOf():
                return "list" if kind.item == ANY else f"list[{self.write(kind.item, level)}]"
            case TupleOf():
                return f"tuple[{', '.join(self.write(item, level) for item in kind.items)}]"
            case MapOf():
                return "dict" if kind.value == ANY else f"dict[str, {self.write(kind.value, level)}]"
            case UnionType():
                return " | ".join(dict.fromkeys(self.write(member, level) for member in kind.members))
            case NamedType():
                return self._write_record(kind.name, level)
            case _:
                assert_never(kind)

    def _write_record(self, name: str, level: int) -> str:
        record = self._records.get(name)
        if record is None:
            return "dict"
        shared = self._names.get(_describe_structure(record, self._records))
        if shared is not None:
            self.used.setdefault(shared, record)
            return shared
        return self.write_body(record, level) if level < LEVELS else "dict"

    def write_body(self, record: RecordType, level: int) -> str:
        """Returns the fields in braces; a field that has to be left out is never cut in the middle."""
        shown = [
            f"{_write_name(each.name)}{'' if each.required else '?'}: {self.write(each.type, level + 1)}"
            for each in record.fields[:MOST_FIELDS]
        ]
        more = [f"... {len(record.fields) - MOST_FIELDS} more"] if len(record.fields) > MOST_FIELDS else []
        return f"{{{', '.join([*shown, *more])}}}"


def _name_shared(stubs: Sequence[ToolStub]) -> dict[str, str]:
    """Returns the names of the records that stand at several places, by what they are."""
    counts, hints = Counter[str](), dict[str, str]()
    for stub in stubs:
        records = _index_records(stub)
        for kind in (*(each.type for each in stub.parameters.known), stub.result.type):
            for name in _walk_names(kind, records, 0):
                structure = _describe_structure(records[name], records)
                counts[structure] += 1
                shorter = _shorten_name(name, stub)
                hints[structure] = min(hints.get(structure, shorter), shorter, key=lambda text: (len(text), text))
    names: dict[str, str] = {}
    for structure, hint in hints.items():
        if counts[structure] > 1 and len(structure) >= SHORTEST_SHARED:
            taken = set(names.values())
            names[structure] = next(name for name in _number_name(hint) if name not in taken)
    return names


def _walk_names(kind: Type, records: Records, level: int) -> Iterator[str]:
    """Yields the names of the records of a type that would be written."""
    match kind:
        case NamedType():
            record = records.get(kind.name)
            if record is not None and level < LEVELS:
                yield kind.name
                for field in record.fields[:MOST_FIELDS]:
                    yield from _walk_names(field.type, records, level + 1)
        case ListOf():
            yield from _walk_names(kind.item, records, level)
        case MapOf():
            yield from _walk_names(kind.value, records, level)
        case UnionType():
            for member in kind.members:
                yield from _walk_names(member, records, level)
        case _:
            return


def _describe_structure(record: RecordType, records: Records, depth: int = 0) -> str:
    """Returns a text that is the same for records of the same fields and types, whatever they are called."""
    if depth >= _DEEPEST:
        return "dict"
    writer = _StructureWriter(records, depth)
    return (
        "{"
        + ", ".join(f"{each.name}{'' if each.required else '?'}: {writer.write(each.type, 0)}" for each in record.fields)
        + "}"
    )


class _StructureWriter(_TypeWriter):
    def __init__(self, records: Records, depth: int) -> None:
        super().__init__(records, {})
        self._depth = depth

    def _write_record(self, name: str, level: int) -> str:  # noqa: ARG002  # a structure has no level
        record = self._records.get(name)
        return "dict" if record is None else _describe_structure(record, self._records, self._depth + 1)


def _index_records(stub: ToolStub) -> dict[str, RecordType]:
    return {record.name: record for record in (*stub.parameters.records, *stub.result.records)}


def _shorten_name(name: str, stub: ToolStub) -> str:
    """Returns ``PaymentHistoryItem`` for ``ModifyOrderResultPaymentHistoryItem``, and ``Order`` for ``GetOrderResult``."""
    before, found, after = name.partition("Result")
    if not found:
        return name
    plain = after or _VERB.sub("", before)
    return (
        plain.removesuffix("Item") or plain if not plain[:1].isdigit() and plain else stub.function[:20].title().replace("_", "")
    )


def _number_name(name: str) -> Iterator[str]:
    yield name
    for number in range(2, 1_000):
        yield f"{name}{number}"


def _write_name(name: str) -> str:
    return name if _FIELD.fullmatch(name) else ascii(name)
