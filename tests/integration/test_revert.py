"""What a failed run wrote is undone as a plan of its own, in the real sandbox."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.errors import Conflict, NotFound
from gristmill.ledger.audit.audit_entries import AuditEntry, AuditFilter
from gristmill.model import Identity, WritesMade
from gristmill.runtime.runtime import Runtime

UNDO = "crm.delete(id=result.id)"
CREATE_TWO = "from servers import crm\nfor name in ('a', 'b'):\n    crm.create(name=name)\n1 / 0"


class Rows:
    """A server with rows; ``answer`` replaces what `create` returns."""

    def __init__(self) -> None:
        self.rows: dict[Any, str] = {}
        self.deleted: list[Any] = []
        self.answer: Any = None
        self.refuses: set[Any] = set()

    def create(self, name: str) -> Any:
        """Create a row."""
        self.rows[len(self.rows) + 1] = name
        return {"id": len(self.rows)} if self.answer is None else self.answer

    def delete(self, id: Any) -> str:  # noqa: A002
        """Delete a row."""
        if id in self.refuses:
            raise ValueError("not now")
        self.deleted.append(id)
        return "gone"

    def log(self, text: str) -> str:
        """Write a line."""
        return text


@contextmanager
def opened(tmp_path: Path, rows: Rows, **more: Any) -> Generator[BlockingRuntime]:
    settings = {
        "store": {"path": str(tmp_path)}, "sandbox": {"warm": 1}, "policy": {"allow": ["crm.*"], "revert": {"crm.create": UNDO}}, **more
    }  # fmt: skip
    with BlockingRuntime(
        Config.model_validate(settings), tools={"crm.create": rows.create, "crm.delete": rows.delete, "crm.log": rows.log}
    ) as runtime:
        yield runtime


def test_the_writes_of_a_failed_run_are_listed_and_undone_once(tmp_path: Path) -> None:
    rows = Rows()
    with opened(tmp_path, rows) as runtime:
        failed = runtime.execute(CREATE_TWO.replace("1 / 0", "crm.log(text='x')\n1 / 0"))
        assert failed.writes == (WritesMade(tool="crm.create", made=2, undo=UNDO), WritesMade(tool="crm.log", made=1))
        assert any(f"gristmill revert {failed.id}" in line for line in failed.advice)
        waiting = runtime.revert(failed.id)
        assert waiting.plan is not None
        assert [(call.tool, call.arguments) for call in waiting.plan.calls] == [
            ("crm.delete", {"id": 2}),
            ("crm.delete", {"id": 1}),
        ]
        assert (waiting.status, rows.deleted) == ("awaiting_approval", []), "the policy allows the tool, and a person is asked"
        runtime.decide(waiting.plan.id, "all", by="ann")
        assert runtime.execute(resume=waiting.id).status == "ok"
        assert rows.deleted == [2, 1]
        assert (runtime.revert(failed.id).status, rows.deleted) == ("ok", [2, 1]), "nothing is undone twice"
        with pytest.raises(Conflict, match="was undone"):
            runtime.execute(resume=failed.id)
        with pytest.raises(Conflict, match="cannot be undone itself"):
            runtime.revert(waiting.id)
        records = asyncio.run_coroutine_threadsafe(_list_children(runtime.runtime, failed.id), runtime.runtime.loop).result(10)
        assert waiting.id in [entry.record.id for entry in records]


async def _list_children(runtime: Runtime, execution: str) -> Sequence[AuditEntry]:
    await runtime.audit.flush()
    return await runtime.audit.list(AuditFilter(kind="execution", parent=execution))


def test_a_revert_that_fails_goes_on_where_it_ended(tmp_path: Path) -> None:
    rows = Rows()
    rows.refuses = {1}
    with opened(tmp_path, rows) as runtime:
        failed = runtime.execute(CREATE_TWO)
        waiting = runtime.revert(failed.id)
        assert waiting.plan is not None
        runtime.decide(waiting.plan.id, "all", by="ann")
        assert (runtime.execute(resume=waiting.id).status, rows.deleted) == ("failed", [2])
        rows.refuses = set()
        again = runtime.revert(failed.id)
        if again.status == "awaiting_approval":
            assert again.plan is not None
            runtime.decide(again.plan.id, "all", by="ann")
            again = runtime.execute(resume=again.id)
        assert (again.status, rows.deleted) == ("ok", [2, 1])


@pytest.mark.parametrize(
    "identifier",
    ["7'); import os; os.abort() #", "\\' + chr(0)\n1/0\n'", '"""', "{id}", "\u2028x = 1"],
)
def test_a_result_that_looks_like_code_stays_a_value(tmp_path: Path, identifier: str) -> None:
    rows = Rows()
    rows.answer = {"id": identifier}
    with opened(tmp_path, rows) as runtime:
        failed = runtime.execute("from servers import crm\ncrm.create(name='a')\n1 / 0")
        waiting = runtime.revert(failed.id)
        assert waiting.plan is not None, waiting.error
        runtime.decide(waiting.plan.id, "all", by="ann")
        assert (runtime.execute(resume=waiting.id).status, rows.deleted) == ("ok", [identifier])


def test_a_result_without_the_value_is_not_undone(tmp_path: Path) -> None:
    rows = Rows()
    rows.answer = {"id": {"$planned": [1]}}
    with opened(tmp_path, rows) as runtime:
        failed = runtime.execute(CREATE_TWO)
        with pytest.raises(Conflict, match=r"no short text, number or boolean at result\.id"):
            runtime.revert(failed.id)
        with pytest.raises(NotFound):
            runtime.revert(failed.id, identity=Identity(caller="eve"))


def test_masked_values_reach_the_server_as_they_are(tmp_path: Path) -> None:
    rows = Rows()
    rows.answer = {"id": "ann@example.org"}
    with opened(tmp_path, rows, mask={"mode": "full"}) as runtime:
        failed = runtime.execute("from servers import crm\ncrm.create(name='a')\n1 / 0")
        waiting = runtime.revert(failed.id)
        assert waiting.plan is not None, waiting.error
        assert "ann@example.org" not in str(waiting.plan)
        runtime.decide(waiting.plan.id, "all", by="ann")
        assert (runtime.execute(resume=waiting.id).status, rows.deleted) == ("ok", ["ann@example.org"])


def test_what_the_policy_denies_is_not_undone(tmp_path: Path) -> None:
    rows = Rows()
    policy = {"allow": ["crm.*"], "deny": ["crm.delete"], "revert": {"crm.create": UNDO}}
    with opened(tmp_path, rows, policy=policy) as runtime:
        failed = runtime.execute(CREATE_TWO)
        undone = runtime.revert(failed.id)
        assert (undone.status, rows.deleted) == ("failed", [])
