"""Keeps rules that a person made while approving: later calls of the same tool, as it is defined now, need no approval.

A rule is for one caller, and for one of its sessions or for all. It turns an ``ask`` of the configuration into an ``allow`` and
nothing else: what is denied stays denied, and a tool whose definition changes asks again.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from msgspec import Struct

from gristmill.errors import Busy, NotFound
from gristmill.model import Identity
from gristmill.store.base import Row, Store, Transaction, Value

RuleScope = Literal["session", "caller"]
"""Whether a rule is for one session of its caller or for all."""
MOST_RULES = 1_000
"""Most rules of one tenant."""
ID_PREFIX = "ar_"
_COLUMNS = "id, tenant, caller, space, session, tool, definition, approval, created, made_by"


class StandingRule(Struct, frozen=True, kw_only=True):
    """One rule. ``space`` is the key of its session, ``session`` its name; both are None for a rule for all sessions."""

    id: str
    owner: Identity
    space: str | None
    session: str | None
    tool: str
    definition: str
    approval: str
    created: float
    made_by: str

    @property
    def text(self) -> str:
        """Returns the rule in words."""
        where = "in every session and without one" if self.session is None else f"in the session {self.session}"
        return f"always allow {self.tool} for {self.owner.caller} {where}, as long as its definition stays the same"

    def fields(self) -> dict[str, Any]:
        """Returns plain JSON for people."""
        return {
            "id": self.id, "caller": self.owner.caller, "session": self.session, "tool": self.tool, "approval": self.approval,
            "created": self.created, "made_by": self.made_by, "text": self.text,
        }  # fmt: skip


TellRule = Callable[[StandingRule, Literal["made", "revoked"], str], None]
"""Is told of a rule, of what became of it, and by whom."""


def ignore_rule(_rule: StandingRule, _how: Literal["made", "revoked"], _by: str) -> None:
    """Does nothing: for those that need not know."""


class StandingRules:
    """The rules in the store. ``clock`` returns wall time; ``tell`` is called with every rule that is made or revoked."""

    def __init__(self, store: Store, clock: Callable[[], float], tell: "TellRule") -> None:
        self._store, self._clock, self._tell = store, clock, tell

    async def make(
        self, tools: Sequence[tuple[str, str]], *, owner: Identity, space: str | None, session: str | None, approval: str, by: str
    ) -> tuple[StandingRule, ...]:
        """Makes a rule for each tool and the hash of its definition, unless there is the same one already.

        Raises:
            Busy: the tenant has too many rules.
        """
        made = [
            StandingRule(
                id=f"{ID_PREFIX}{secrets.token_hex(8)}", owner=owner, space=space, session=session, tool=tool,
                definition=definition, approval=approval, created=self._clock(), made_by=by,
            )
            for tool, definition in tools
        ]  # fmt: skip

        def insert(transaction: Transaction) -> list[StandingRule]:
            ((count,),) = transaction.run("SELECT count(*) FROM standing_rules WHERE tenant = ?", owner.tenant)
            known = {(rule.tool, rule.definition, rule.space) for rule in self._read_of(transaction, owner)}
            new = [rule for rule in made if (rule.tool, rule.definition, rule.space) not in known]
            if int(count or 0) + len(new) > MOST_RULES:
                text = f"there are {count} rules made while approving: revoke some with `gristmill approvals revoke ID`"
                raise Busy(text, limit="rules", value=MOST_RULES, retry_after=60.0)
            marks = ", ".join("?" * 10)
            for rule in new:
                transaction.run(f"INSERT INTO standing_rules ({_COLUMNS}) VALUES ({marks})", *_write_row(rule))  # noqa: S608
            return new

        for rule in (found := await self._store.change(insert)):
            self._tell(rule, "made", by)
        return tuple(found)

    async def covers(self, identity: Identity, space: str | None, tool: str, definition: str) -> StandingRule | None:
        """Returns the rule by which a call of ``identity`` needs no approval, or None."""
        if not definition:
            return None
        sql = f"SELECT {_COLUMNS} FROM standing_rules WHERE tenant = ? AND caller = ? AND tool = ? AND definition = ?"  # noqa: S608
        rows = await self._store.read(sql, identity.tenant, identity.caller, tool, definition)
        return next((rule for rule in map(_read_row, rows) if rule.space in (None, space)), None)

    async def list(self, *, tenant: str | None = None, owner: Identity | None = None) -> tuple[StandingRule, ...]:
        """Returns the rules of ``owner``, of a whole ``tenant``, or of all, newest first."""
        where, values = ["1 = 1"], list[Value]()
        if tenant is not None:
            where.append("tenant = ?")
            values.append(tenant)
        if owner is not None:
            where.append("tenant = ? AND caller = ?")
            values += [owner.tenant, owner.caller]
        sql = f"SELECT {_COLUMNS} FROM standing_rules WHERE {' AND '.join(where)} ORDER BY created DESC, id LIMIT ?"  # noqa: S608
        return tuple(map(_read_row, await self._store.read(sql, *values, MOST_RULES)))

    async def revoke(self, id: str, *, by: str, tenant: str | None = None) -> StandingRule:  # noqa: A002 - the register's own word
        """Deletes a rule: from now on calls of its tool ask again.

        Raises:
            NotFound: there is no such rule, or it belongs to another tenant.
        """
        rows = await self._store.read(f"SELECT {_COLUMNS} FROM standing_rules WHERE id = ?", id)  # noqa: S608
        found = _read_row(rows[0]) if rows else None
        if found is None or tenant not in (None, found.owner.tenant):
            raise NotFound(f"there is no rule {id[:80]!r}; `gristmill approvals rules` lists them")
        await self._store.write(("DELETE FROM standing_rules WHERE id = ?", (id,)))
        self._tell(found, "revoked", by)
        return found

    def _read_of(self, transaction: Transaction, owner: Identity) -> tuple[StandingRule, ...]:
        sql = f"SELECT {_COLUMNS} FROM standing_rules WHERE tenant = ? AND caller = ?"  # noqa: S608
        return tuple(map(_read_row, transaction.run(sql, owner.tenant, owner.caller)))


def _write_row(rule: StandingRule) -> tuple[Value, ...]:
    owner = rule.owner
    return (
        rule.id, owner.tenant, owner.caller, rule.space, rule.session, rule.tool, rule.definition, rule.approval, rule.created,
        rule.made_by,
    )  # fmt: skip


def _read_row(row: Row) -> StandingRule:
    values = cast("tuple[Any, ...]", row)
    return StandingRule(
        id=values[0], owner=Identity(tenant=values[1], caller=values[2]), space=values[3], session=values[4], tool=values[5],
        definition=values[6], approval=values[7], created=values[8], made_by=values[9],
    )  # fmt: skip
