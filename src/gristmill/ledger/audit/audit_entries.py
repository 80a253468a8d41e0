"""The audit's records, one per execution, call or other event, and the views of them. Values only."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Literal, cast

from msgspec import Struct, field
from msgspec.structs import asdict

from gristmill.ledger.record_text import bound_json, bound_text, encode_canonical, hash_text
from gristmill.model import LOCAL, Identity, Json

Kind = Literal["execution", "call", "search", "security", "approval", "rollout"]
ACCEPTED = "accepted"
"""The status of a promise: the record ``EXECUTION/accepted``, which says that its parent execution will run."""
INSTANCE = "instance"
"""The key, among the details of a promise, of the id of the process that made it."""
INTERRUPTED = "interrupted"
"""The status of an execution that was accepted and has no record of its own, or was cancelled by the end of the service."""
BEGUN = "begun"
"""The key, in the details of an execution that failed by our fault, that says its program may have run: do not run it anew."""

TEXT, CODE, ARGUMENTS = 2_000, 200_000, 20_000
"""Most characters kept of a line of text, of a program and of a call's arguments."""


class AuditRecord(Struct, frozen=True, kw_only=True):
    """One event. The code that creates it has already masked ``code``, ``arguments``, ``error`` and ``details``."""

    kind: Kind
    id: str
    time: float
    parent: str | None = None
    tenant: str = LOCAL
    session: str | None = None
    caller: str = LOCAL
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

    def encode_if_short(self) -> "tuple[dict[str, Any], str] | None":
        """Returns ``fields`` and their canonical text if all of it is short and harmless, which one look at the text tells."""
        if self.code is not None or not (self.arguments is None or type(self.arguments) is dict):
            return None
        found = {name: value for name, value in zip(_NAMES, _VALUES(self), strict=True) if value is not None}
        for name in _NESTED:
            if name in found and not found[name]:
                del found[name]
        text = encode_canonical(found)
        # In canonical JSON each unsafe character is written with a backslash, except DEL (0x7f); escaped quotes are harmless.
        is_harmless = len(text) <= TEXT and "\\" not in text.replace('\\"', "") and "\x7f" not in text
        return (found, text) if is_harmless else None

    def fields(self) -> dict[str, Any]:
        """Returns what is kept: every text harmless and bounded, without empty fields."""
        found: dict[str, Any] = {}
        for name, value in zip(_NAMES, _VALUES(self), strict=True):
            if value is None:
                continue
            if type(value) is str and len(value) <= TEXT and value.isprintable():
                found[name] = value  # nearly all texts
            elif type(value) is str:
                keep = "\n\t" if name in _OF_SEVERAL_LINES else ""
                found[name] = bound_text(value, CODE if name == "code" else TEXT, keep=keep)
            elif name not in _NESTED:
                found[name] = value
            elif value:
                found[name] = bound_json(_copy_mapping(value), ARGUMENTS)
        if self.code is not None and self.code_hash is None:
            found["code_hash"] = hash_text(self.code)
        return found


_NESTED = ("arguments", "details")
_OF_SEVERAL_LINES = ("code", "error")
_NAMES = tuple(AuditRecord.__struct_fields__)
_VALUES = attrgetter(*_NAMES)


def _copy_mapping(value: Json) -> Json:
    return dict(cast("Mapping[str, Json]", value)) if isinstance(value, Mapping) else value


class AuditEntry(Struct, frozen=True, kw_only=True):
    """A record with its place in the chain."""

    seq: int
    hash: str
    record: AuditRecord

    def fields(self) -> dict[str, Any]:
        """Returns plain JSON."""
        return {"seq": self.seq, "hash": self.hash, **{k: v for k, v in asdict(self.record).items() if v not in (None, {})}}


class AuditTree(Struct, frozen=True, kw_only=True):
    """An entry and the entries of what happened inside it, in order."""

    entry: AuditEntry
    children: "tuple[AuditTree, ...]" = ()

    def fields(self) -> dict[str, Any]:
        """Returns plain JSON."""
        return {**self.entry.fields(), "children": [child.fields() for child in self.children]}


class AuditFilter(Struct, frozen=True, kw_only=True):
    """Which records to show; an empty field matches all. A door that serves tenants always sets ``tenant`` or ``owner``."""

    kind: Kind | None = None
    id: str | None = None
    owner: Identity | None = None
    """Only records of this caller of this tenant."""
    tenant: str | None = None
    session: str | None = None
    caller: str | None = None
    tool: str | None = None
    status: str | None = None
    parent: str | None = None
    since: float | None = None
    until: float | None = None
    word: str | None = None
    """Only records that contain this text anywhere, in upper or lower case, among the newest."""
    promises: Literal["all", "open"] = "all"
    """``open``: only promises whose execution has no record of its own; these are also found by the status ``interrupted``."""


class AuditVerified(Struct, frozen=True, kw_only=True):
    """Whether the chain is intact; if not, the first record that cannot be right, and why."""

    ok: bool
    records: int
    first_bad: int | None = None
    reason: str | None = None
