"""What the audit says: one record per execution and per call, and the views of it. Values only."""

from collections.abc import Mapping
from dataclasses import asdict, field
from operator import attrgetter
from typing import Any, Literal, cast

from gristmill.ledger.record_text import bounded, bounded_json, canonical, sha256
from gristmill.model import Json
from gristmill.values import dataclass

Kind = Literal["execution", "call", "search", "security", "approval"]
ACCEPTED = "accepted"
"""The status of a promise that an execution will run; its record is called ``EXECUTION/accepted`` and belongs to that one."""
INSTANCE = "instance"
"""Among the details of a promise: the process that made it."""
INTERRUPTED = "interrupted"
"""How an execution ended that was accepted and has no record of its own, or was broken off by the end of the service."""

TEXT, CODE, ARGUMENTS = 2_000, 200_000, 20_000
"""Characters kept of a line of text, of a program and of a call's arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One thing that happened. Whoever makes it has masked ``code``, ``arguments``, ``error`` and ``details`` already."""

    kind: Kind
    id: str
    time: float
    parent: str | None = None
    tenant: str = "local"
    session: str | None = None
    caller: str = "local"
    code: str | None = None
    code_hash: str | None = None
    tool: str | None = None
    arguments: Json = None
    decision: str | None = None
    rule: str | None = None
    status: str | None = None
    error: str | None = None
    bytes: int | None = None
    ms: float | None = None
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def short(self) -> "tuple[dict[str, Any], str] | None":
        """``fields`` and their canonical text, where all of it is short and harmless, which one look at the text tells."""
        if self.code is not None or not (self.arguments is None or type(self.arguments) is dict):
            return None
        found = {name: value for name, value in zip(_NAMES, _VALUES(self), strict=True) if value is not None}
        for name in _NESTED:
            if name in found and not found[name]:
                del found[name]
        text = canonical(found)
        # What would have to be made visible is written with a backslash, but for one character; and quotes are harmless.
        is_harmless = len(text) <= TEXT and "\\" not in text.replace('\\"', "") and "\x7f" not in text
        return (found, text) if is_harmless else None

    def fields(self) -> dict[str, Any]:
        """What is kept: every text harmless and bounded, nothing that is empty."""
        found: dict[str, Any] = {}
        for name, value in zip(_NAMES, _VALUES(self), strict=True):
            if value is None:
                continue
            if type(value) is str and len(value) <= TEXT and value.isprintable():
                found[name] = value  # as nearly all are
            elif type(value) is str:
                found[name] = bounded(value, CODE, keep="\n\t") if name == "code" else bounded(value, TEXT)
            elif name not in _NESTED:
                found[name] = value
            elif value:
                found[name] = bounded_json(_plain(value), ARGUMENTS)
        if self.code is not None and self.code_hash is None:
            found["code_hash"] = sha256(self.code)
        return found


_NESTED = ("arguments", "details")
_NAMES = tuple(AuditRecord.__slots__)
_VALUES = attrgetter(*_NAMES)


def _plain(value: Json) -> Json:
    return dict(cast("Mapping[str, Json]", value)) if isinstance(value, Mapping) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """A record in its place in the chain."""

    seq: int
    hash: str
    record: AuditRecord

    def fields(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"seq": self.seq, "hash": self.hash, **{k: v for k, v in asdict(self.record).items() if v not in (None, {})}}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTree:
    """An entry with what happened inside it, in order."""

    entry: AuditEntry
    children: "tuple[AuditTree, ...]" = ()

    def fields(self) -> dict[str, Any]:
        """As plain JSON."""
        return {**self.entry.fields(), "children": [child.fields() for child in self.children]}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which records to show; what is empty does not matter. A door that serves tenants always gives ``tenant``."""

    kind: Kind | None = None
    id: str | None = None
    tenant: str | None = None
    session: str | None = None
    caller: str | None = None
    tool: str | None = None
    status: str | None = None
    parent: str | None = None
    since: float | None = None
    until: float | None = None
    promises: Literal["all", "open"] = "all"
    """Of promises all, or only those whose execution has no record of its own: those are found as ``interrupted``, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Whether the chain is whole; if not, the first record that cannot be right, and why."""

    ok: bool
    records: int
    first_bad: int | None = None
    reason: str | None = None
