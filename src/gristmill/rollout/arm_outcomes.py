"""Stores what came of each turn or execution of an arm, and what people said about it: figures, never content."""

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, Protocol, cast

from msgspec import Struct

from gristmill.errors import NotFound
from gristmill.model import Identity
from gristmill.rollout.measures import Measure
from gristmill.rollout.sequential_bounds import Sums
from gristmill.store.base import Row, Statement, Store, Transaction, Value

Thumb = Literal["up", "down"]
COMMENT_CHARACTERS = 2_000
MOST_READ = 200_000
"""Most outcomes that are read for a simulation; the newest are taken."""


class ArmOutcome(Struct, frozen=True, kw_only=True):
    """One turn of a conversation, or one execution, in an arm. Tokens are ``measured`` where the model reported its usage."""

    id: str
    rollout: str
    arm: str
    unit: str
    conversation: str
    identity: Identity
    at: float
    compared: bool = True
    status: str = "ok"
    failed: bool = False
    seconds: float = 0.0
    first_seconds: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    direct_tokens: int | None = None
    """What direct calls would have cost instead, where the token accounts know it."""
    measured: bool = False
    dollars: float = 0.0
    used_code: bool = False
    approvals: int = 0
    fallbacks: int = 0
    repairs: int = 0
    accuracy: float | None = None
    complaints: int = 0


class Feedback(Struct, frozen=True, kw_only=True):
    """What somebody says about an answer; ``outcome`` is the id of a turn or an execution, or the name of a conversation."""

    outcome: str
    identity: Identity
    thumb: Thumb | None = None
    complaint: bool = False
    accuracy: float | None = None
    comment: str = ""


class OutcomeReader(Protocol):
    """Adds up outcomes of arms, from a store or from a replay."""

    async def read_sums(self, rollout: str, measure: Measure, since: float, until: float) -> Mapping[str, Sums]:
        """Returns the sums of a measure over the conversations of each arm that count in comparisons."""
        ...


_NAMES = (
    "at", "failed", "status", "seconds", "first_seconds", "tokens_in", "tokens_out", "tokens_cached", "direct_tokens", "measured",
    "dollars", "used_code", "approvals", "fallbacks", "repairs", "accuracy", "complaints",
)  # fmt: skip
_COLUMNS = f"id, rollout, arm, compared, unit, conversation, tenant, caller, {', '.join(_NAMES)}"
_INSERT = f"INSERT INTO arm_outcomes ({_COLUMNS}) VALUES ({', '.join('?' * (8 + len(_NAMES)))}) ON CONFLICT (id) DO NOTHING"  # noqa: S608
_COMPLAINTS = """SELECT said.arm, COUNT(*), SUM(said.complaint), SUM(said.complaint) FROM arm_feedback AS said
    JOIN arm_outcomes AS made ON made.id = said.outcome AND made.compared = 1
    WHERE said.rollout = ? AND said.at >= ? AND said.at < ? GROUP BY said.arm"""
_PERIOD = "rollout = ? AND at >= ? AND at < ? AND compared = 1"


class ArmOutcomes:
    """The outcomes of one store."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock

    def store_outcome(self, made: ArmOutcome) -> None:
        """Stores an outcome without waiting; one with the same id stays as it is."""
        figures = [_to_value(getattr(made, name)) for name in _NAMES]
        who = made.identity
        row = (
            made.id,
            made.rollout,
            made.arm,
            int(made.compared),
            made.unit,
            made.conversation,
            who.tenant,
            who.caller,
            *figures,
        )
        self._store.write_soon((_INSERT, row))

    def add_tokens(self, id_: str, tokens_in: int, tokens_out: int, direct: int, dollars: float) -> None:
        """Adds the tokens to an outcome that was stored before they were counted, without waiting."""
        sql = "UPDATE arm_outcomes SET tokens_in = ?, tokens_out = ?, direct_tokens = ?, dollars = ? WHERE id = ?"
        self._store.write_soon((sql, (tokens_in, tokens_out, direct, dollars, id_)))

    async def find_conversation(self, rollout: str, who: Identity, conversation: str) -> tuple[str, str, bool] | None:
        """Returns the arm of the first turn of a conversation, its unit, and whether it is compared; None if it had none."""
        await self._store.flush()  # its first turn may have ended just now
        sql = """SELECT arm, unit, compared FROM arm_outcomes WHERE tenant = ? AND conversation = ? AND caller = ? AND rollout = ?
            ORDER BY at LIMIT 1"""
        rows = await self._store.read(sql, who.tenant, conversation, who.caller, rollout)
        return (str(rows[0][0]), str(rows[0][1]), bool(rows[0][2])) if rows else None

    async def store_feedback(self, given: Feedback, *, whole_tenant: bool = False) -> int:
        """Stores feedback and adds it to the outcome (the last of a conversation); returns how many arms' outcomes it reached.

        The same caller's later feedback about the same outcome replaces the earlier one, so nobody can complain twice.

        Raises:
            NotFound: there is no such outcome of this caller, or with ``whole_tenant`` of its tenant.
        """
        await self._store.flush()  # the outcome may just have been handed over
        return await self._store.change(partial(_add_feedback, given=given, whole_tenant=whole_tenant, now=self._clock()))

    async def read_sums(self, rollout: str, measure: Measure, since: float, until: float) -> Mapping[str, Sums]:
        """Returns the sums of a measure over the conversations of each arm that count in comparisons.

        Complaints count when they are made, also about an answer from before ``since``.
        """
        if measure.about.kind == "count":
            return _read_sum_rows(await self._store.read(_COMPLAINTS, rollout, since, until))
        sql, values = measure.sql
        whole = (
            f"SELECT arm, COUNT(v), SUM(v), SUM(v * v) FROM (SELECT arm, {sql} AS v FROM arm_outcomes WHERE {_PERIOD} "  # noqa: S608
            "GROUP BY arm, conversation) AS made WHERE v IS NOT NULL GROUP BY arm"
        )
        return _read_sum_rows(await self._store.read(whole, *values, rollout, since, until))

    async def read_ranked(self, rollout: str, arm: str, column: str, since: float, until: float, rank: int) -> float | None:
        """Returns the value at ``rank`` (from 1) among the ordered values of ``seconds`` or ``first_seconds``; None outside."""
        if rank < 1:
            return None
        sql = (
            f"SELECT {column} FROM arm_outcomes WHERE {_PERIOD} AND arm = ? AND {column} IS NOT NULL "  # noqa: S608 - our own names
            f"ORDER BY {column} LIMIT 1 OFFSET ?"
        )
        rows = await self._store.read(sql, rollout, since, until, arm, rank - 1)
        return float(rows[0][0] or 0) if rows else None

    async def count_turns(self, rollout: str, column: str, since: float, until: float) -> dict[str, int]:
        """Counts the turns of each arm that have a value of ``column``."""
        sql = f"SELECT arm, COUNT({column}) FROM arm_outcomes WHERE {_PERIOD} GROUP BY arm"  # noqa: S608 - our own names
        return {str(arm): int(count or 0) for arm, count in await self._store.read(sql, rollout, since, until)}

    async def count_statuses(self, rollout: str, since: float, until: float) -> dict[str, dict[str, int]]:
        """Counts how turns ended, by arm and status."""
        sql = f"SELECT arm, status, COUNT(*) FROM arm_outcomes WHERE {_PERIOD} GROUP BY arm, status ORDER BY arm, status"  # noqa: S608
        found: dict[str, dict[str, int]] = {}
        for arm, status, count in await self._store.read(sql, rollout, since, until):
            found.setdefault(str(arm), {})[str(status)] = int(count or 0)
        return found

    async def count_thumbs(self, rollout: str, since: float, until: float) -> dict[str, dict[str, int]]:
        """Counts thumbs, by arm and direction."""
        sql = """SELECT arm, thumb, COUNT(*) FROM arm_feedback WHERE rollout = ? AND at >= ? AND at < ? AND thumb IS NOT NULL
            GROUP BY arm, thumb ORDER BY arm, thumb"""
        found: dict[str, dict[str, int]] = {}
        for arm, thumb, count in await self._store.read(sql, rollout, since, until):
            found.setdefault(str(arm), {})[str(thumb)] = int(count or 0)
        return found

    async def list_outcomes(self, rollout: str, since: float, until: float) -> tuple[ArmOutcome, ...]:
        """Lists outcomes that count in comparisons, the oldest first."""
        sql = f"SELECT {_COLUMNS} FROM arm_outcomes WHERE {_PERIOD} ORDER BY at DESC LIMIT {MOST_READ}"  # noqa: S608 - our own names
        return tuple(map(_parse_outcome, reversed(await self._store.read(sql, rollout, since, until))))


def name_reported_outcome(who: Identity, id_: str) -> str:
    """Returns the id under which an outcome is kept that a caller reported with an id of its own."""
    return f"{who.tenant}/{who.caller}/{id_}"


def build_forget_outcomes(before: float) -> tuple[Statement, ...]:
    """Returns the statements that delete outcomes and feedback older than ``before``."""
    return tuple((f"DELETE FROM {table} WHERE at < ?", (before,)) for table in ("arm_outcomes", "arm_feedback"))  # noqa: S608


def _add_feedback(transaction: Transaction, *, given: Feedback, whole_tenant: bool, now: float) -> int:
    who = given.identity
    owner, values = ("", ()) if whole_tenant else ("AND caller = ?", (who.caller,))
    rows = transaction.run(
        f"SELECT id, rollout, arm FROM arm_outcomes WHERE tenant = ? AND (id = ? OR id = ? OR conversation = ?) {owner} "  # noqa: S608
        "ORDER BY at DESC LIMIT 1",
        who.tenant, given.outcome, name_reported_outcome(who, given.outcome), given.outcome, *values,
    )  # fmt: skip
    if not rows:
        raise NotFound(
            f"no turn, execution or conversation {given.outcome[:80]!r} of yours is in a rollout: send the `id` of its answer"
        )
    outcome, rollout, arm = (str(value) for value in rows[0])
    id_ = hashlib.sha256(f"{outcome}\x1f{who.tenant}\x1f{who.caller}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    transaction.run(
        """INSERT INTO arm_feedback (id, rollout, arm, outcome, tenant, caller, at, thumb, accuracy, complaint, comment)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at, thumb = excluded.thumb,
        accuracy = excluded.accuracy, complaint = excluded.complaint, comment = excluded.comment""",
        id_, rollout, arm, outcome, who.tenant, who.caller, now, given.thumb, given.accuracy, int(given.complaint),
        given.comment[:COMMENT_CHARACTERS],
    )  # fmt: skip
    transaction.run(
        """UPDATE arm_outcomes SET
        complaints = (SELECT COALESCE(SUM(complaint), 0) FROM arm_feedback WHERE outcome = ?),
        accuracy = COALESCE((SELECT AVG(accuracy) FROM arm_feedback WHERE outcome = ?), accuracy) WHERE id = ?""",
        outcome, outcome, outcome,
    )  # fmt: skip
    return 1


def _read_sum_rows(rows: list[Row]) -> dict[str, Sums]:
    return {
        str(arm): Sums(count=int(count or 0), total=float(total or 0), squares=float(squares or 0))
        for arm, count, total, squares in rows
    }


def _to_value(figure: Any) -> Value:
    return int(figure) if isinstance(figure, bool) else figure


def _parse_outcome(row: Row) -> ArmOutcome:
    id_, rollout, arm, compared, unit, conversation, tenant, caller, *figures = cast("tuple[Any, ...]", row)
    given = dict(zip(_NAMES, figures, strict=True))
    flags = {name: bool(given.pop(name)) for name in ("failed", "measured", "used_code")}
    return ArmOutcome(
        id=id_, rollout=rollout, arm=arm, compared=bool(compared), unit=unit, conversation=conversation,
        identity=Identity(tenant=tenant, caller=caller), **flags, **given,
    )  # fmt: skip
