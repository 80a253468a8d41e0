"""What the layers know about the execution whose calls they see: which were made before, are allowed, or must wait."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, field

from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.policy.approvals import Grant
from gristmill.model import Decision, Execution, Json, PlannedCall, ToolCall
from gristmill.runtime.hints.result_samples import ResultSample
from gristmill.sandbox.base import CallGate

REVERT = "revert_"
"""Begins the root of the runs that undo what another run wrote; the root of that one follows."""
PLANNED = "$planned"
"""Marks a planned result among the arguments of a later call: ``{"$planned": [number, key, ...]}``."""

MOST_CONVERSIONS = 5
"""How many conversions of arguments an outcome tells of."""

State = Literal["sent", "done", "failed"]

_FAST_ENCODER, _SAME_IN_BOTH = msgspec.json.Encoder(order="sorted"), frozenset((str, int, bool, type(None)))
_SORTED_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class CallKey(Struct, frozen=True):
    """Identifies a call across runs of a program: a hash of tool and arguments, and its place among identical calls."""

    hash: str
    occurrence: int


class RecordedCall(Struct, frozen=True, kw_only=True):
    """A call of an earlier run and its result. The state ``sent`` means that it is unknown whether the call was made."""

    tool: str
    state: State
    value: Json = None
    attempt: int = 0


class CountedWrites(Struct):
    """The writes of one tool in a run: those that were made, and those that were sent and have no answer."""

    made: int = 0
    unknown: int = 0


class MadeCalls(Struct):
    """The calls of one tool in a run: how many, how many of them failed, how long they took, and the shape of the last result."""

    count: int = 0
    failed: int = 0
    seconds: float = 0.0
    sample: ResultSample | None = None


class ExecutionState(Struct, kw_only=True):
    """One pass through a program. ``root`` is the first execution of a chain of resumed ones, which share a journal."""

    execution: Execution
    root: str
    space: str | None = None
    """The key under which the session keeps its interpreter and its files; no two tenants share one."""
    recorded: Mapping[CallKey, RecordedCall] = field(default_factory=dict[CallKey, RecordedCall])
    grants: tuple[Grant, ...] = ()
    dry_run: bool = False
    redactor: Redactor | None = None

    planned: list[PlannedCall] = field(default_factory=list[PlannedCall])
    names: dict[int, str] = field(default_factory=dict[int, str])
    """The tools of calls, under their proper names."""
    decisions: dict[int, Decision] = field(default_factory=dict[int, Decision])
    definitions: dict[int, str] = field(default_factory=dict[int, str])
    """Hashes of the definitions that the decisions about calls were made for."""
    answered: set[CallKey] = field(default_factory=set[CallKey])
    results: dict[tuple[str, int], Json] = field(default_factory=dict[tuple[str, int], Json])
    """Results of approved calls, by approval and number in its plan: later calls may refer to them."""
    undefined: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names that the program uses and does not define, with what they mean: servers, tools, functions such as call_tool."""
    noted: bool = False
    """Whether enough is stored to resume this run after a crash."""
    made: dict[str, MadeCalls] = field(default_factory=dict[str, MadeCalls])
    """The calls of this pass that were answered or broken off, by tool, for hints."""
    writes: dict[str, CountedWrites] = field(default_factory=dict[str, CountedWrites])
    """What this pass wrote, by tool; writes of earlier passes that it repeats are among them."""
    gate: CallGate = field(default_factory=CallGate)
    """Closed when the program has ended: from then on none of its calls may leave."""
    conversions: dict[str, None] = field(default_factory=dict[str, None])
    """What was done to arguments so that they fit, as advice for the caller; at most ``MOST_CONVERSIONS`` lines."""
    loss: str | None = None
    """Why the session had to start a fresh interpreter, if it kept one before."""
    _converted_calls: dict[int, ToolCall] = field(default_factory=dict[int, ToolCall])
    _masked_arguments: dict[int, Json] = field(default_factory=dict[int, Json])
    _grants_by_call: dict[CallKey, Grant] = field(default_factory=dict[CallKey, Grant])
    _used_grants: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    _exact_grants: dict[CallKey, list[Grant]] = field(default_factory=dict[CallKey, list[Grant]])
    _referring_grants: list[Grant] = field(default_factory=list[Grant])
    _keys: dict[int, CallKey] = field(default_factory=dict[int, CallKey])
    _occurrences: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        for grant in self.grants:
            self._exact_grants.setdefault(CallKey(grant.call.hash, grant.call.occurrence), []).append(grant)
            if any(True for _ in _find_references(grant.call.arguments)):
                self._referring_grants.append(grant)

    def make_next_pass(self, recorded: Mapping[CallKey, RecordedCall], grants: tuple[Grant, ...]) -> "ExecutionState":
        """Returns the state for another pass of the program, with everything that was called and decided in the meantime."""
        return ExecutionState(
            execution=self.execution, root=self.root, space=self.space, recorded=recorded, grants=grants, dry_run=self.dry_run,
            redactor=self.redactor, noted=self.noted, loss=self.loss, undefined=self.undefined,
        )  # fmt: skip

    def unmask_value(self, value: Json) -> Json:
        """Replaces masks by the values they stand for: for rules and checks, never for records."""
        return value if self.redactor is None else self.redactor.unmask(value)

    def mask_value(self, value: Json) -> Json:
        """Masks ``value`` for people and records."""
        return value if self.redactor is None else self.redactor.mask(value)

    def find_key(self, call: ToolCall) -> CallKey:
        """Returns the key of this call in the journal; call it only when the call has its proper names."""
        key = self._keys.get(call.id)
        if key is None:
            digest = hash_call(call.tool, call.arguments)
            occurrence = self._occurrences.get(digest, 0)
            key = self._keys[call.id] = CallKey(digest, occurrence)
            self._occurrences[digest] = occurrence + 1
        return key

    def find_recorded(self, call: ToolCall) -> RecordedCall | None:
        """Returns what is recorded of this call in an earlier run, or None."""
        return self.recorded.get(self.find_key(call))

    def find_grant(self, call: ToolCall, definition: str = "") -> Grant | None:
        """Returns the decision of a person about this call of a tool with this definition. One decision is for one call."""
        key = self.find_key(call)
        if key not in self._grants_by_call:
            for grant in (*self._exact_grants.get(key, ()), *self._referring_grants):
                place = (grant.approval, grant.call.number)
                if place not in self._used_grants and grant.call.definition == definition and self._covers_call(grant, key, call):
                    self._used_grants.add(place)
                    self._grants_by_call[key] = grant
                    break
        return self._grants_by_call.get(key)

    def plan_call(self, call: ToolCall, decision: Decision, *, needs_approval: bool, was_lost: bool, definition: str = "") -> int:
        """Adds a call to the plan instead of making it; returns its number there."""
        key, number = self.find_key(call), len(self.planned) + 1
        self.planned.append(
            PlannedCall(
                number=number,
                tool=call.tool,
                arguments=self.mask_arguments(call),
                rule=decision.rule,
                hash=key.hash,
                occurrence=key.occurrence,
                needs_approval=needs_approval,
                was_lost=was_lost,
                definition=definition,
            )
        )
        return number

    def refers_to_planned(self, call: ToolCall) -> bool:
        """Returns whether a result that exists only in the plan is among the arguments."""
        return bool(self.planned) and any(
            number in self._planned_numbers for _, number, _ in _find_references(dict(call.arguments))
        )

    @property
    def _planned_numbers(self) -> range:
        return range(1, len(self.planned) + 1)

    def remember_result(self, call: ToolCall, value: Json) -> None:
        """Remembers a result that later calls of the plan may refer to."""
        grant = self._grants_by_call.get(self.find_key(call)) if self._grants_by_call else None
        if grant is not None:
            self.results[grant.approval, grant.call.number] = value

    def note_conversion(self, call: ToolCall, changes: Iterable[str]) -> None:
        """Remembers a call as it was converted, for records, and tells the caller what was changed."""
        self._converted_calls[call.id] = call
        for change in changes:
            if len(self.conversions) < MOST_CONVERSIONS:
                self.conversions[f"{call.tool}: {change}"] = None

    def mask_arguments(self, call: ToolCall) -> Json:
        """Returns the masked arguments of a call as it is sent, computed once."""
        shown = self._masked_arguments.get(call.id)
        if shown is None:
            sent = self._converted_calls.get(call.id, call)
            shown = self._masked_arguments[call.id] = self.mask_value(dict(sent.arguments))
        return shown

    def is_read_only(self, call: ToolCall) -> bool:
        """Returns whether the rules know that this call changes nothing."""
        decision = self.decisions.get(call.id)
        return decision is not None and decision.read_only

    @property
    def is_revert(self) -> bool:
        """Returns whether this run undoes what another one wrote: a person decides about each of its calls."""
        return self.root.startswith(REVERT)

    def count_write(self, tool: str, *, made: int = 0, unknown: int = 0) -> None:
        """Counts writes of a tool."""
        counted = self.writes.setdefault(tool, CountedWrites())
        counted.made, counted.unknown = counted.made + made, counted.unknown + unknown

    @property
    def waits_for_approval(self) -> bool:
        """Returns whether a person has to decide before the program can be run to its end."""
        return any(call.needs_approval for call in self.planned) and not self.dry_run

    @property
    def diverged(self) -> tuple[str, ...]:
        """Returns the tools of recorded calls that this run did not make."""
        return tuple(entry.tool for key, entry in self.recorded.items() if entry.state == "done" and key not in self.answered)

    def _covers_call(self, grant: Grant, key: CallKey, call: ToolCall) -> bool:
        planned = grant.call
        if planned.tool != call.tool:
            return False
        if planned.hash == key.hash:
            return planned.occurrence == key.occurrence
        # The plan did not know all arguments of this call: each result that it refers to must be the value used here.
        arguments: Json = json.loads(json.dumps(dict(call.arguments)))
        for place, number, path in _find_references(planned.arguments):
            result = self.results.get((grant.approval, number), _MISSING)
            if not _are_equal_json(_get_at(arguments, place), _get_at(result, path)):
                return False
            _set_at(arguments, place, {PLANNED: [number, *path]})
        return hash_call(call.tool, arguments) == planned.hash


def hash_call(tool: str, arguments: Mapping[str, Json]) -> str:
    """Returns a hash that is the same for the same call, in whatever order its arguments are.

    Calls on record are found by it: another way to hash needs a new ``PROGRAM_FORMAT``, or a resumed run repeats its writes.
    """
    return hashlib.sha256(_encode_sorted([tool, arguments], arguments)).hexdigest()


def _encode_sorted(call: Json, arguments: Mapping[str, Json]) -> bytes:
    """Encodes JSON with sorted keys, with the fast encoder where both encoders write the same; for fractions they differ."""
    if _SAME_IN_BOTH.issuperset(map(type, arguments.values())):
        try:
            return _FAST_ENCODER.encode(call)
        except (TypeError, ValueError, OverflowError):  # lone surrogates, huge numbers
            pass
    return _SORTED_ENCODER.encode(call).encode("utf-8", "surrogatepass")


def _find_references(
    value: Json, place: tuple[str | int, ...] = ()
) -> Iterable[tuple[tuple[str | int, ...], int, tuple[Any, ...]]]:
    """Finds every planned result in ``value``: where it stands, the number of its call, and the path within the result."""
    if isinstance(value, dict):
        mapping = cast("dict[str, Json]", value)
        if mapping.keys() == {PLANNED} and _is_reference(mapping[PLANNED]):
            number, *path = cast("list[Any]", mapping[PLANNED])
            yield place, number, tuple(path)
            return
        for key, item in mapping.items():
            yield from _find_references(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Json]", value)):
            yield from _find_references(item, (*place, index))


def _is_reference(value: Json) -> bool:
    """Returns whether this is the number of a call, then keys and indexes. Code writes it: anything else is a plain value."""
    if not isinstance(value, list) or not value:
        return False
    number, *path = cast("list[Any]", value)
    return type(number) is int and all(type(part) in (int, str) for part in path)


_MISSING = object()


def _get_at(value: Any, path: Iterable[str | int]) -> Any:
    """Returns what is found by keys of objects and indexes of arrays. A text has no parts: one letter is not what it says."""
    for part in path:
        holder: type = dict if isinstance(part, str) else list
        if not isinstance(value, holder):
            return _MISSING
        try:
            value = value[part]
        except (KeyError, IndexError):
            return _MISSING
    return value


def _are_equal_json(one: Any, other: Any) -> bool:
    """Returns whether two values are equal as JSON: a missing value equals nothing, and true is not 1."""
    if one is _MISSING or other is _MISSING:
        return False
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _set_at(value: Any, path: tuple[str | int, ...], new: Json) -> None:
    for part in path[:-1]:
        value = value[part]
    value[path[-1]] = new
