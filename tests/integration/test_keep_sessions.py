"""Branches, ends and searches of sessions, and flow rules that hold for what an earlier process handed over."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.errors import Refused, UnknownSession
from gristmill.ledger.audit.audit_entries import AuditFilter
from gristmill.runtime.open.open_durable import open_durable
from gristmill.runtime.open.session_stores import open_keeping

pytestmark = pytest.mark.anyio
RULE = {"deny": ("crm -> web.*",)}
READ = "from servers import crm\nsecret = crm.profile()['name']\n1"
SEND = "from servers import web\nweb.post(text={!r})"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest) -> Path:
    folder = state / f"keep-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    return folder


def profile() -> dict[str, str]:
    """Who it is."""
    return {"name": "Annabelle Winterbottom"}


def post(text: str) -> str:
    """Tell the world."""
    return text


TOOLS = {"crm.profile": profile, "web.post": post}


@asynccontextmanager
async def opened(home: Path, **sections: Any) -> AsyncGenerator[Runtime]:
    config = Config.model_validate(
        {"sandbox": SandboxConfig(warm=0), "store": StoreConfig(path=home), "policy": {"allow": ["*"]}, **sections}
    )
    async with Runtime.open(config, tools=TOOLS) as runtime:
        yield runtime


async def test_a_branch_is_a_session_of_its_own(home: Path) -> None:
    async with opened(home) as runtime:
        await runtime.execute("x = 1\nopen('f', 'w').close()", session="trunk")
        await runtime.fork_session("trunk", "branch")
        assert {each.name for each in await runtime.keeping.sessions.list()} == {"trunk", "branch"}
        with pytest.raises(Refused, match="exists already"):
            await runtime.fork_session("trunk", "branch")
        await runtime.execute("1", session="other")
        await runtime.drop_session("other")
        with pytest.raises(Refused, match="exists already"):  # its files would be lost sight of
            await runtime.fork_session("trunk", "other")
        with pytest.raises(Refused, match="is taken"):
            await runtime.fork_session("trunk", "third", caller="eve")
        assert runtime.sessions_kept == ("trunk", "branch")


async def test_a_deleted_session_takes_its_interpreter_along(home: Path) -> None:
    async with opened(home) as runtime:
        await runtime.execute("x = 1\nopen('f', 'w').close()", session="s")
        with pytest.raises(UnknownSession):
            await runtime.delete_session("s", caller="eve")
        await runtime.delete_session("s")
        assert runtime.sessions_kept == ()
        assert (await runtime.execute("import os\n['x' in globals(), os.listdir('.')]", session="s")).result == [False, []]
        with pytest.raises(UnknownSession):
            await runtime.delete_session("t")


@pytest.mark.requirement("T26")
async def test_a_session_deleted_by_another_process_does_not_live_on_in_its_interpreter(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gristmill.session.session_register.TOUCH_SECONDS", 0.0)
    async with opened(home) as runtime:
        await runtime.execute("x = 1", session="s")
        assert (await runtime.execute("x", session="s")).result == 1
        async with open_keeping(Config(store=StoreConfig(path=home))) as elsewhere:
            await elsewhere.sessions.delete(await elsewhere.sessions.named("s"))
        assert (await runtime.execute("'x' in globals()", session="s")).result is False


async def test_old_sessions_and_accounts_are_forgotten_with_the_old_records(home: Path) -> None:
    async with opened(home) as runtime:
        await runtime.execute("from servers import crm\ncrm.profile()\nopen('f', 'w').close()", session="old")
        await runtime.stats()
    later = time.time() + 400 * 86_400
    async with open_durable(Config(store=StoreConfig(path=home)), lambda: later) as durable:
        durable.keeping.sessions._clock = lambda: later  # pyright: ignore[reportPrivateUsage]
        for _ in range(1_000):  # it begins by itself, in the background
            if not await durable.store.read("SELECT 1 FROM sessions WHERE ended IS NULL"):
                break
            await asyncio.sleep(0.01)
        assert (await durable.keeping.sessions.list(), list((home / "workspaces").iterdir())) == ((), [])
        history = await durable.spent.history(tenant="local")
        assert (history.executions, history.calls, (await durable.audit.verify()).ok) == ([], [], True)


@pytest.mark.requirement("T31")
async def test_a_flow_rule_holds_after_a_restart_without_the_values(home: Path) -> None:
    async with opened(home, flows=RULE) as runtime:
        assert (await runtime.execute(READ, session="s")).result == 1
        assert (await runtime.execute(SEND.format("hello"), session="s")).result == "hello"
    async with opened(home, flows=RULE) as runtime:
        refused = await runtime.execute(SEND.format("hello"), session="s")
        assert "flows.deny: crm -> web.*" in str([each async for each in _rules(runtime)])
        assert "start a new one" in (refused.error or "")
        assert (await runtime.execute(SEND.format("hello"), session="fresh")).result == "hello"
        await runtime.delete_session("s")
        assert (await runtime.execute(SEND.format("hello"), session="s")).result == "hello"


async def _rules(runtime: Runtime) -> AsyncGenerator[str | None]:
    await runtime.audit.flush()
    for entry in await runtime.audit.list(AuditFilter(kind="security"), limit=100):
        yield entry.record.rule


@pytest.mark.requirement("T31")
async def test_a_branch_has_seen_what_its_origin_has(home: Path) -> None:
    async with opened(home, flows=RULE) as runtime:
        await runtime.execute(READ, session="s")
        await runtime.fork_session("s", "b")
        code = "from servers import web\nweb.post(text=secret)"
        assert "came from crm" in ((await runtime.execute(code, session="b")).error or "")
    async with opened(home, flows=RULE) as runtime:
        assert "start a new one" in ((await runtime.execute(SEND.format("x"), session="b")).error or "")


@pytest.mark.requirement("T31")
async def test_what_a_run_without_a_session_left_behind_is_still_known_to_come_from_there(home: Path) -> None:
    async with opened(home, flows=RULE) as runtime:
        left = await runtime.execute(f"{READ}\n['x' * 50_000, secret]")
        assert left.session is not None
    async with opened(home, flows=RULE) as runtime:
        code = f"from servers import web\nimport json\nweb.post(text=json.load(open({left.left_out[0].path!r}))[1])"
        assert "start a new one" in ((await runtime.execute(code, session=left.session)).error or "")


@pytest.mark.requirement("T31")
async def test_a_session_put_aside_is_remembered_by_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.runtime.calls.mask_and_flow_layers.OPEN", 1)
    async with opened(home, flows=RULE) as runtime:
        await runtime.execute(READ, session="s")
        await runtime.execute(READ, session="t")
        assert "start a new one" in ((await runtime.execute(SEND.format("x"), session="s")).error or "")


SAVE = "def tidy_rows(n: int) -> int:\n    'Tidy the rows of a ledger.'\n    return n\nfrom skills import save\nsave(tidy_rows, level={!r})"


@pytest.mark.requirement("T46")
async def test_a_search_finds_the_skills_of_whoever_asks(home: Path) -> None:
    async with opened(home) as runtime:
        await runtime.execute(SAVE.format("user"), session="a", caller="ann", tenant="one")
        await runtime.execute(SAVE.format("session"), session="b", caller="bob", tenant="one")

        async def found(**who: Any) -> bool:
            hits = (await runtime.search("tidy the rows of a ledger", **who)).hits
            return any(hit.tool.key == "skills.tidy_rows" for hit in hits)

        asked = [
            {"caller": "ann", "tenant": "one"}, {"caller": "ann", "tenant": "one", "session": "a"}, {"caller": "ann"},
            {"caller": "bob", "tenant": "one"}, {"caller": "bob", "tenant": "one", "session": "b"},
            {"caller": "eve", "tenant": "one", "session": "b"}, {"caller": "ann", "tenant": "two"}, {},
        ]  # fmt: skip
        assert [await found(**who) for who in asked] == [True, True, False, False, True, False, False, False]
        described = await runtime.describe("skills.tidy_rows", caller="ann", tenant="one")
        assert "Tidy the rows" in described.text


async def test_searches_are_on_record_and_in_the_accounts(home: Path) -> None:
    async with opened(home) as runtime:
        await runtime.search("post for ann@example.com", session="s", caller="ann", tenant="one")
        inside = "from tool_discovery import search_tools\nsearch_tools('profile')\nfrom servers import crm\ncrm.profile()"
        await runtime.execute(inside, session="s", caller="ann", tenant="one")
        stats = await runtime.stats(tenant="one")
        assert stats.searches == 2
        await runtime.audit.flush()
        (entry,) = await runtime.audit.list(AuditFilter(kind="search"), limit=10)
        assert (entry.record.tenant, entry.record.caller, entry.record.session) == ("one", "ann", "s")
        query = str(entry.record.details["query"])
        assert (query.startswith("post for "), "ann@example.com" in query) == (True, False)
        history = await runtime._rooms.spent.history(tenant="one")  # pyright: ignore[reportPrivateUsage]
        by_model, by_code = history.searches
        assert (by_model.in_code, by_model.answer_tokens > 0, by_code.in_code, by_code.answer_tokens) == (False, True, True, 0)
        assert (await runtime.stats(tenant="two")).searches == 0
        # Whoever asks what the definitions cost gets one answer, from the accounts and from the catalogue.
        assert stats.definition_tokens == sum((await runtime.definition_tokens()).values()) > 0
