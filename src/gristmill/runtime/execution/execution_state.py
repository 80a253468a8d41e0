"""What the layers know about the execution whose calls they see: which were made before, which are allowed, which must wait."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Literal, cast

import msgspec

from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.policy.approvals import Grant
from gristmill.model import Decision, Execution, Json, PlannedCall, ToolCall
from gristmill.values import dataclass

PLANNED = "$planned"
"""A planned result among the arguments of a later call: ``{"$planned": [number, key, ...]}``."""

State = Literal["sent", "done", "failed"]

_QUICK, _ALIKE = msgspec.json.Encoder(order="sorted"), frozenset((str, int, bool, type(None)))
_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class CallKey:
    """The same call in another run of the same program: tool and arguments by hash, and which of several alike."""

    hash: str
    occurrence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A call of an earlier run: what it came to. ``sent`` and nothing after means that nobody knows."""

    tool: str
    state: State
    value: Json = None
    attempt: int = 0


@dataclass(slots=True, kw_only=True)
class Run:
    """One pass through a program. ``root`` is the first execution of a chain of resumed ones; they share a journal."""

    execution: Execution
    root: str
    space: str | None = None
    """Under which key the session keeps its interpreter and its files; no two tenants share one."""
    recorded: Mapping[CallKey, Recorded] = field(default_factory=dict[CallKey, Recorded])
    grants: tuple[Grant, ...] = ()
    dry_run: bool = False
    redactor: Redactor | None = None

    planned: list[PlannedCall] = field(default_factory=list[PlannedCall])
    names: dict[int, str] = field(default_factory=dict[int, str])
    """Tools of calls under their proper names."""
    decisions: dict[int, Decision] = field(default_factory=dict[int, Decision])
    answered: set[CallKey] = field(default_factory=set[CallKey])
    results: dict[tuple[str, int], Json] = field(default_factory=dict[tuple[str, int], Json])
    """Results of approved calls by approval and number in its plan: later ones may refer to them."""
    noted: bool = False
    """Whether enough is kept to take this run up again after a crash."""
    _shown: dict[int, Json] = field(default_factory=dict[int, Json])
    _granted: dict[CallKey, Grant] = field(default_factory=dict[CallKey, Grant])
    _used: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    _exact: dict[CallKey, list[Grant]] = field(default_factory=dict[CallKey, list[Grant]])
    _referring: list[Grant] = field(default_factory=list[Grant])
    _keys: dict[int, CallKey] = field(default_factory=dict[int, CallKey])
    _seen: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        for grant in self.grants:
            self._exact.setdefault(CallKey(grant.call.hash, grant.call.occurrence), []).append(grant)
            if any(True for _ in _references(grant.call.arguments)):
                self._referring.append(grant)

    def again(self, recorded: Mapping[CallKey, Recorded], grants: tuple[Grant, ...]) -> "Run":
        """The same program once more, with everything that was called and decided meanwhile."""
        return Run(
            execution=self.execution, root=self.root, space=self.space, recorded=recorded, grants=grants, dry_run=self.dry_run,
            redactor=self.redactor, noted=self.noted,
        )  # fmt: skip

    def reveal(self, value: Json) -> Json:
        """Masks become what they stand for: for rules and checks, never for records."""
        return value if self.redactor is None else self.redactor.unmask(value)

    def show(self, value: Json) -> Json:
        """``value`` as people may see it."""
        return value if self.redactor is None else self.redactor.mask(value)

    def key(self, call: ToolCall) -> CallKey:
        """Who this call is in the journal; asked once it has its proper names."""
        key = self._keys.get(call.id)
        if key is None:
            digest = call_hash(call.tool, call.arguments)
            occurrence = self._seen.get(digest, 0)
            key = self._keys[call.id] = CallKey(digest, occurrence)
            self._seen[digest] = occurrence + 1
        return key

    def before(self, call: ToolCall) -> Recorded | None:
        """What this call came to in an earlier run."""
        return self.recorded.get(self.key(call))

    def grant(self, call: ToolCall, definition: str = "") -> Grant | None:
        """What a person decided about this very call of a tool so defined. One decision is for one call."""
        key = self.key(call)
        if key not in self._granted:
            for grant in (*self._exact.get(key, ()), *self._referring):
                place = (grant.approval, grant.call.number)
                if place not in self._used and grant.call.definition == definition and self._is_meant(grant, key, call):
                    self._used.add(place)
                    self._granted[key] = grant
                    break
        return self._granted.get(key)

    def plan(self, call: ToolCall, decision: Decision, *, needs_approval: bool, was_lost: bool, definition: str = "") -> int:
        """Put a call into the plan instead of making it; returns its number there."""
        key, number = self.key(call), len(self.planned) + 1
        self.planned.append(
            PlannedCall(
                number=number,
                tool=call.tool,
                arguments=self.shown(call),
                rule=decision.rule,
                hash=key.hash,
                occurrence=key.occurrence,
                needs_approval=needs_approval,
                was_lost=was_lost,
                definition=definition,
            )
        )
        return number

    def refers(self, call: ToolCall) -> bool:
        """Whether a result that exists only in the plan is among the arguments."""
        return bool(self.planned) and any(number in self._numbers for _, number, _ in _references(dict(call.arguments)))

    @property
    def _numbers(self) -> range:
        return range(1, len(self.planned) + 1)

    def finished(self, call: ToolCall, value: Json) -> None:
        """Remember a result that later calls of the plan may refer to."""
        grant = self._granted.get(self.key(call)) if self._granted else None
        if grant is not None:
            self.results[grant.approval, grant.call.number] = value

    def shown(self, call: ToolCall) -> Json:
        """The arguments of a call as people may see them; searched once."""
        shown = self._shown.get(call.id)
        if shown is None:
            shown = self._shown[call.id] = self.show(dict(call.arguments))
        return shown

    def reads(self, call: ToolCall) -> bool:
        """True when the rules know that this call changes nothing."""
        decision = self.decisions.get(call.id)
        return decision is not None and decision.read_only

    @property
    def waits(self) -> bool:
        """True when a person is to decide before the program can be run to its end."""
        return any(call.needs_approval for call in self.planned) and not self.dry_run

    @property
    def diverged(self) -> tuple[str, ...]:
        """Recorded calls that this run did not make."""
        return tuple(entry.tool for key, entry in self.recorded.items() if entry.state == "done" and key not in self.answered)

    def _is_meant(self, grant: Grant, key: CallKey, call: ToolCall) -> bool:
        planned = grant.call
        if planned.tool != call.tool:
            return False
        if planned.hash == key.hash:
            return planned.occurrence == key.occurrence
        # The plan could not know this call's arguments whole: what it refers to must have come out as it is used here.
        arguments: Json = json.loads(json.dumps(dict(call.arguments)))
        for place, number, path in _references(planned.arguments):
            result = self.results.get((grant.approval, number), _MISSING)
            if not _same(_at(arguments, place), _at(result, path)):
                return False
            _put(arguments, place, {PLANNED: [number, *path]})
        return call_hash(call.tool, arguments) == planned.hash


def call_hash(tool: str, arguments: Mapping[str, Json]) -> str:
    """The same for the same call, however its arguments are ordered."""
    return hashlib.sha256(_sorted([tool, arguments], arguments)).hexdigest()


def _sorted(call: Json, arguments: Mapping[str, Json]) -> bytes:
    """JSON with its keys in order; by the quick encoder where both write the same, which they do not for fractions."""
    if _ALIKE.issuperset(map(type, arguments.values())):
        try:
            return _QUICK.encode(call)
        except (TypeError, ValueError, OverflowError):  # half characters, huge numbers
            pass
    return _SORTED.encode(call).encode("utf-8", "surrogatepass")


def _references(value: Json, place: tuple[str | int, ...] = ()) -> Iterable[tuple[tuple[str | int, ...], int, tuple[Any, ...]]]:
    """Every planned result in ``value``: where it stands, the number of its call, and the path within the result."""
    if isinstance(value, dict):
        mapping = cast("dict[str, Json]", value)
        if mapping.keys() == {PLANNED} and isinstance(mapping[PLANNED], list) and mapping[PLANNED]:
            number, *path = cast("list[Any]", mapping[PLANNED])
            yield place, number, tuple(path)
            return
        for key, item in mapping.items():
            yield from _references(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Json]", value)):
            yield from _references(item, (*place, index))


_MISSING = object()


def _at(value: Any, path: Iterable[str | int]) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return value


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: what is not there equals nothing, and true is not 1."""
    if one is _MISSING or other is _MISSING:
        return False
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _put(value: Any, path: tuple[str | int, ...], new: Json) -> None:
    for part in path[:-1]:
        value = value[part]
    value[path[-1]] = new
