"""What code changes in its session is changed once, in the program's order, however often the program is run for approvals."""

from pathlib import Path
from typing import Any, Literal

import pytest

from gristmill import Config, Runtime
from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.model import Plan

pytestmark = pytest.mark.anyio
COUNT = "from session import kv\nkv['n'] = kv.get('n', 0) + 1\n"
WRITE = "from servers import crm\ncrm.write(text='x')\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest) -> Path:
    folder = state / f"once-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    return folder


def write(text: str) -> str:
    """A write that needs approval."""
    return text


def config(home: Path, **policy: Any) -> Config:
    rules = PolicyConfig(ask=("crm.write",), **policy)
    return Config(sandbox=SandboxConfig(warm=0), store=StoreConfig(path=home), policy=rules)


async def value(runtime: Runtime, code: str) -> Any:
    outcome = await runtime.execute(code, session="s")
    assert outcome.error is None, outcome.error
    return outcome.result


def approver(answer: Literal["all", "none"], seen: list[Plan]) -> Any:
    async def approve(plan: Plan) -> Literal["all", "none"]:
        seen.append(plan)
        return answer

    return approve


async def test_a_value_set_before_the_approval_is_set_once(home: Path) -> None:
    async with Runtime.open(config(home), tools={"crm.write": write}) as runtime:
        outcome = await runtime.execute(f"{COUNT}{WRITE}kv['n']", session="s", approve=approver("all", []))
        assert (outcome.status, outcome.result) == ("ok", 1)
        assert await value(runtime, "from session import kv\nkv['n']") == 1


async def test_a_value_set_after_a_call_that_waits_is_set_when_that_was_made(home: Path) -> None:
    plans: list[Plan] = []
    async with Runtime.open(config(home), tools={"crm.write": write}) as runtime:
        code = f"{WRITE}{COUNT}"
        waiting = await runtime.execute(code, session="s")
        assert waiting.status == "awaiting_approval"
        assert await value(runtime, "from session import kv\nkv.keys()") == []
        done = await runtime.execute(code, session="s", approve=approver("all", plans))
        assert (done.status, [call.tool for call in plans[0].calls]) == ("ok", ["crm.write", "gristmill.kv_set"])
        assert [call.needs_approval for call in plans[0].calls] == [True, False]
        assert await value(runtime, "from session import kv\nkv['n']") == 1
        refused = await runtime.execute(code, session="s", approve=approver("none", []))
        assert (refused.status, await value(runtime, "from session import kv\nkv['n']")) == ("failed", 1)


async def test_a_skill_saved_before_the_approval_has_one_version(home: Path) -> None:
    save = "def f():\n    'Doc.'\n    return {n}\nfrom skills import save, versions, delete\nsave(f, level='user')\n"
    async with Runtime.open(config(home), tools={"crm.write": write}) as runtime:
        code = f"{save.format(n=1)}{save.format(n=2)}{WRITE}[v['version'] for v in versions('f')]"
        outcome = await runtime.execute(code, session="s", approve=approver("all", []))
        assert outcome.result == [1, 2]
        deleted = await runtime.execute(f"{WRITE}delete('f', level='user')", session="s", approve=approver("all", []))
        assert deleted.result == 2


async def test_a_resumed_run_does_not_set_again_what_was_changed_since(home: Path) -> None:
    async with Runtime.open(config(home), tools={"crm.write": write}) as runtime:
        waiting = await runtime.execute(f"{COUNT}{WRITE}", session="s")
        assert waiting.plan is not None
        await value(runtime, "from session import kv\nkv['n'] = 50")
        await runtime.approvals.decide(waiting.plan.id, "all", by="ann")
    async with Runtime.open(config(home), tools={"crm.write": write}) as runtime:
        assert (await runtime.execute(resume=waiting.id)).status == "ok"
        assert await value(runtime, "from session import kv\nkv['n']") == 50


async def test_a_dry_run_changes_no_value(home: Path) -> None:
    async with Runtime.open(config(home, dry_run=True), tools={"crm.write": write}) as runtime:
        outcome = await runtime.execute(COUNT, session="s")
        assert outcome.plan is not None
        assert [call.tool for call in outcome.plan.calls] == ["gristmill.kv_set"]
        assert (await runtime.execute("from session import kv\nkv.keys()", session="s")).result == []
