"""What goes on record about an execution, however it ends."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gristmill.config.tree import Config
from gristmill.errors import SandboxCrashed
from gristmill.ledger.audit.audit_entries import AuditFilter
from gristmill.model import Report
from gristmill.runtime.runtime import Runtime
from gristmill.sandbox.base import SandboxJob
from gristmill.testing import CallTool, FakePool, fake_runtime


async def _records(runtime: Runtime) -> list[Mapping[str, Any]]:
    audit = runtime._rooms.recorder.audit  # pyright: ignore[reportPrivateUsage]
    await audit.flush()
    return [entry.fields() for entry in reversed(await audit.list(AuditFilter()))]


def ended(tmp_path: Path, pool: FakePool, **policy: Any) -> list[Mapping[str, Any]]:
    def write(n: int) -> int:
        return n

    async def work() -> list[Mapping[str, Any]]:
        config = Config.model_validate({"store": {"path": tmp_path}, "policy": policy})
        async with fake_runtime(config, pool, tools={"crm.write": write}) as runtime:

            async def yes(_plan: object) -> Any:
                return "all"

            try:
                await runtime.execute("1", execution_id="e", approve=yes)
            except SandboxCrashed:
                pass
            return await _records(runtime)

    return asyncio.run(work())


async def _writes(tools: CallTool) -> Any:
    return await tools("crm.write", n=1)


def test_a_call_is_recorded_with_its_decision_and_its_execution(tmp_path: Path) -> None:
    call, execution = ended(tmp_path, FakePool(program=_writes), allow=["crm.*"])
    assert (call["kind"], call["id"], call["parent"], call["decision"], call["status"]) == ("call", "e/1", "e", "allow", "ok")
    assert (execution["kind"], execution["status"], execution["code"]) == ("execution", "ok", "1")


def test_a_refusal_is_recorded_with_its_rule(tmp_path: Path) -> None:
    records = ended(tmp_path, FakePool(program=_writes), deny=["crm.*"])
    assert [(one["kind"], one.get("rule")) for one in records[:2]] == [
        ("call", 'policy.deny "crm.*"'), ("security", 'policy.deny "crm.*"'),
    ]  # fmt: skip


def test_an_approved_call_names_its_approval(tmp_path: Path) -> None:
    planned, decided, made, execution = ended(tmp_path, FakePool(program=_writes), ask=["crm.*"])
    assert [one["status"] for one in (planned, decided, made, execution)] == ["planned", "approved", "ok", "ok"]
    assert made["rule"].endswith(f"approval {decided['id']}")


def test_an_execution_that_broke_off_is_recorded_too(tmp_path: Path) -> None:
    def crash(_job: SandboxJob) -> Report:
        raise SandboxCrashed("gone: ann@example.org")

    (execution,) = ended(tmp_path, FakePool(crash))
    assert (execution["status"], "ann@" in execution["error"]) == ("sandbox.crashed", False)


@pytest.mark.parametrize("status", ["failed", "limited", "crashed"])
def test_every_ending_has_its_status(tmp_path: Path, status: Any) -> None:
    records = ended(tmp_path, FakePool(lambda _job: Report(status=status)))
    assert records[0]["status"] == status
