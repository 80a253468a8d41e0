"""The whole gateway on both stores: sessions, values, skills, approvals, the journal, the audit and the accounts."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig
from gristmill.ledger.audit.audit_entries import AuditFilter
from tests.integration.store.conftest import Place

pytestmark = pytest.mark.anyio


def find(query: str) -> str:
    """Find something."""
    return f"found {query} for ann@example.com"


def write(text: str) -> str:
    """Write something."""
    written.append(text)
    return text


written: list[str] = []


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest) -> Path:
    folder = state / f"both-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    written.clear()
    return folder


@asynccontextmanager
async def opened(home: Path, place: Place, **sections: Any) -> AsyncGenerator[Runtime]:
    store = {"path": home} if place.url is None else {"path": home, "url": "${env:GRISTMILL_TEST_STORE}"}
    os.environ["GRISTMILL_TEST_STORE"] = place.url or ""
    policy = {"allow": ["crm.find"], "ask": ["crm.write"]}
    config = Config.model_validate({"sandbox": SandboxConfig(warm=0), "store": store, "policy": policy, **sections})
    async with Runtime.open(config, tools={"crm.find": find, "crm.write": write}, serving=True) as runtime:
        yield runtime


async def value(runtime: Runtime, code: str, **options: Any) -> Any:
    outcome = await runtime.execute(code, **options)
    assert outcome.error is None, outcome.error
    return outcome.result


@pytest.mark.requirement("P16")
async def test_a_plan_is_decided_and_the_run_resumed_after_a_restart(home: Path, place: Place) -> None:
    code = (
        "from servers import crm\nfrom session import kv\nkv['n'] = kv.get('n', 0) + 1\ncrm.find(query='a')\ncrm.write(text='x')"
    )
    async with opened(home, place) as runtime:
        waiting = await runtime.execute(code, session="s")
        assert (waiting.status, written) == ("awaiting_approval", [])
        assert waiting.plan is not None
        assert [each.id for each in await runtime.approvals.list()] == [waiting.plan.id]
        await runtime.approvals.decide(waiting.plan.id, "all", by="ann")
    async with opened(home, place) as runtime:
        done = await runtime.execute(resume=waiting.id)
        assert (done.status, done.result, written) == ("ok", "x", ["x"])
        assert done.replay is not None
        assert done.replay.answered >= 2
        again = await runtime.execute(resume=waiting.id)
        assert (again.result, written) == ("x", ["x"])
        assert await value(runtime, "from session import kv\nkv['n']", session="s") == 1


async def test_sessions_values_skills_and_files_are_there_after_a_restart(home: Path, place: Place) -> None:
    save = (
        "def twice(n: int) -> int:\n    'Double a number.'\n    return n * 2\nfrom skills import save\nfrom session import kv\n"
    )
    async with opened(home, place) as runtime:
        await value(runtime, f"{save}kv['k'] = [1, None]\nopen('f', 'w').write('x')\nsave(twice, level='user')", session="s")
    async with opened(home, place) as runtime:
        look = "from session import kv\nfrom skills import twice\n[kv['k'], open('f').read(), twice(4)]"
        assert await value(runtime, look, session="s") == [[1, None], "x", 8]
        assert await value(runtime, "from skills import twice\ntwice(2)", session="t") == 4
        assert (await runtime.search("double a number")).hits[0].tool.key == "skills.twice"
        assert await value(runtime, "from session import kv\nkv.keys()", session="s", tenant="other") == []
        await runtime.delete_session("s")
        assert await value(runtime, "import os\nfrom session import kv\n[kv.keys(), os.listdir('.')]", session="s") == [[], []]


async def test_the_chain_is_whole_and_the_accounts_add_up(home: Path, place: Place) -> None:
    for turn in range(2):
        async with opened(home, place) as runtime:
            await runtime.search("find something", session="s")
            await value(runtime, f"from servers import crm\nlen(crm.find(query='{turn}'))", session="s")
            await runtime.execute("import ctypes, socket\n1 / 0", session="s")
            stats = await runtime.stats(session="s")
            verified = await runtime.audit.verify()
            assert (stats.searches, stats.executions, stats.calls) == (turn + 1, 2 * (turn + 1), turn + 1)
            assert verified.ok
            calls = await runtime.audit.list(AuditFilter(kind="call"), limit=10)
            assert [entry.record.tool for entry in calls] == ["crm.find"] * (turn + 1)
            assert (await runtime.stats(tenant="other")).executions == 0


@pytest.mark.requirement("T31")
async def test_flow_rules_remember_whose_values_were_seen(home: Path, place: Place) -> None:
    rule = {"flows": {"deny": ["crm.find -> crm.write"]}, "policy": {"allow": ["*"]}}
    async with opened(home, place, **rule) as runtime:
        await value(runtime, "from servers import crm\nlen(crm.find(query='a'))", session="s")
    async with opened(home, place, **rule) as runtime:
        refused = await runtime.execute("from servers import crm\ncrm.write(text='x')", session="s")
        assert ("start a new one" in (refused.error or ""), written) == (True, [])
