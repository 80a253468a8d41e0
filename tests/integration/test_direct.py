"""A direct call goes through everything that a call from code goes through, and needs no sandbox."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from gristmill import Config, Runtime
from gristmill.config.sections.mask_section import MaskConfig
from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.sections.quota_section import QuotaConfig
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.errors import LimitExceeded, ToolFailed
from gristmill.model import Plan
from gristmill.runs.texts.provider_tools import ExportOptions, export_tools
from tests.conftest import TOOLS

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def opened(folder: Path, tools: dict[str, Any] | None = None, **sections: Any) -> AsyncGenerator[Runtime]:
    folder.chmod(0o755)
    config = Config(sandbox=SandboxConfig(warm=0), store=StoreConfig(path=folder / "state"), **sections)
    async with Runtime.open(config, tools=TOOLS | (tools or {})) as runtime:
        yield runtime


@pytest.mark.requirement("M6")
async def test_a_call_is_answered_and_on_record_with_its_execution(tmp_path: Path) -> None:
    async with opened(tmp_path) as runtime:
        outcome = await runtime.call("crm.get", {"number": 5}, caller="ann")
        await runtime.audit.flush()
        records = [entry.record for entry in await runtime.audit.list()]

    assert (outcome.status, outcome.result, outcome.tools_called) == ("ok", {"number": 5}, ("crm.get",))
    assert {(record.kind, record.caller, record.status) for record in records} == {
        ("execution", "ann", "ok"),
        ("call", "ann", "ok"),
    }


@pytest.mark.requirement("M6")
async def test_what_the_policy_denies_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=PolicyConfig(deny=("crm.get",))) as runtime:
        outcome = await runtime.call("crm.get", {"number": 5})

    assert (outcome.status, outcome.error_type) == ("refused", "refused.call")


async def test_wrong_arguments_and_unknown_tools_are_explained(tmp_path: Path) -> None:
    async with opened(tmp_path) as runtime:
        wrong = await runtime.call("crm.get", {"number": "five"})
        unknown = await runtime.call("crm.got", {})

    assert (wrong.status, unknown.status, unknown.error_type) == ("refused", "failed", "not_found.tool")
    assert "number" in (wrong.error or "")
    assert "did you mean" in (unknown.error or "")


@pytest.mark.requirement("M6")
async def test_the_quota_counts_direct_calls(tmp_path: Path) -> None:
    async with opened(tmp_path, quota=QuotaConfig(session_calls_per_minute=1)) as runtime:
        first, second = await runtime.call("crm.get", {"number": 1}), await runtime.call("crm.get", {"number": 2})

    assert (first.status, second.status) == ("ok", "limited")


@pytest.mark.parametrize(("said", "status"), [("all", "ok"), ("none", "refused")])
async def test_a_call_that_asks_waits_for_the_approver(tmp_path: Path, said: Literal["all", "none"], status: str) -> None:
    shown: list[str] = []

    async def approve(plan: Plan) -> Literal["all", "none"]:
        shown.extend(call.tool for call in plan.calls)
        return said

    async with opened(tmp_path, policy=PolicyConfig(ask=("crm.get",))) as runtime:
        outcome = await runtime.call("crm.get", {"number": 5}, approve=approve)

    assert (outcome.status, shown) == (status, ["crm.get"])


async def test_a_call_that_nobody_could_be_asked_about_is_resumed_as_a_program(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=PolicyConfig(ask=("crm.get",))) as runtime:
        waiting = await runtime.call("crm.get", {"number": 5})
        assert (waiting.status, waiting.result) == ("awaiting_approval", None)
        assert waiting.plan
        await runtime.approvals.decide(waiting.plan.id, "all", by="ann")
        done = await runtime.execute(resume=waiting.id)

    assert (done.status, done.result) == ("ok", {"number": 5})


async def test_a_large_answer_is_kept_short_and_the_rest_stays_in_the_workspace(tmp_path: Path) -> None:
    async with opened(tmp_path) as runtime:
        outcome = await runtime.call("crm.rows", {"count": 2_000}, session="s")

    assert outcome.left_out
    assert outcome.session == "s"


MAIL = "ann@example.com"


class Post:
    """Tools that tell an address and send to one."""

    def __init__(self) -> None:
        self.received: list[str] = []

    def find(self) -> dict[str, str]:
        """Whose address it is."""
        return {"name": "Ann", "mail": MAIL}

    def send(self, to: str) -> dict[str, str]:
        """Send to an address."""
        self.received.append(to)
        if to == "nobody":
            raise ToolFailed(f"not a friend of {MAIL}")
        return {"sent_to": to}

    @property
    def tools(self) -> dict[str, Any]:
        return {"post.find": self.find, "post.send": self.send}


@pytest.mark.requirement("M6")
@pytest.mark.parametrize("mode", ["output", "full"])
async def test_the_model_sees_masks_and_the_tool_gets_what_they_stand_for(
    tmp_path: Path, mode: Literal["output", "full"]
) -> None:
    post = Post()
    policy = PolicyConfig(allow=("*",))
    async with opened(tmp_path, post.tools, mask=MaskConfig(mode=mode), policy=policy) as runtime:
        found: Any = await runtime.call("post.find", session="s")
        placeholder = found.result["mail"]
        sent: Any = await runtime.call("post.send", {"to": placeholder}, session="s")
        failed = await runtime.call("post.send", {"to": "nobody"}, session="s")
        foreign = await runtime.call("post.send", {"to": placeholder}, session="another")
        await runtime.audit.flush()
        record = str([entry.record for entry in await runtime.audit.list()])

    assert placeholder.startswith("<EMAIL_")
    assert post.received == [MAIL, "nobody", placeholder]
    assert sent.result == {"sent_to": placeholder}
    assert MAIL not in str([found, sent, failed, foreign])
    assert placeholder in (failed.error or "")
    assert MAIL not in record


@pytest.mark.requirement("M6")
@pytest.mark.parametrize("form", ["anthropic", "openai"])
async def test_a_call_under_an_exported_name_goes_through_policy_masks_and_record(
    tmp_path: Path, form: Literal["anthropic", "openai"]
) -> None:
    post = Post()
    policy = PolicyConfig(allow=("post.find",), deny=("post.send",))
    async with opened(tmp_path, post.tools, mask=MaskConfig(mode="full"), policy=policy) as runtime:
        made = export_tools(await runtime.list_tools("post"), form, ExportOptions())
        outcomes = {key: await runtime.call(key, {"to": "x"} if key == "post.send" else {}) for key in made.names.values()}
        await runtime.audit.flush()
        calls = {entry.record.status for entry in await runtime.audit.list() if entry.record.kind == "call"}

    found: Any = outcomes["post.find"].result
    assert found["mail"].startswith("<EMAIL_")
    assert (outcomes["post.send"].status, post.received) == ("refused", [])
    assert calls == {"ok", "refused.call"}


@pytest.mark.requirement("T86")
@pytest.mark.parametrize("depth", [101, 450, 900, 100_000])
async def test_arguments_that_nobody_could_read_in_a_plan_are_refused_before_anything_happens(tmp_path: Path, depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = {"k": value}
    async with opened(tmp_path, policy=PolicyConfig(ask=("crm.get",))) as runtime:
        with pytest.raises(LimitExceeded, match="arguments: a value is nested deeper than 100 levels"):
            await runtime.call("crm.get", {"number": value})
        with pytest.raises(LimitExceeded, match="64 bits"):
            await runtime.call("crm.get", {"number": 10**4_000})
        assert await runtime.approvals.list() == ()
