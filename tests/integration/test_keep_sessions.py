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
from gristmill.errors import LimitExceeded, Refused, ToolFailed, UnknownSession
from gristmill.ledger.audit.audit_entries import AuditFilter
from gristmill.model import LOCAL_IDENTITY
from gristmill.runtime.open.open_durable import open_durable_stores
from gristmill.runtime.open.session_stores import open_session_stores
from gristmill.store.clock_guard import trust_clock

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


def refuse() -> None:
    """Fail with a name in the error."""
    raise ToolFailed("no account for Annabelle.Winterbottom@crm.example")


TOOLS = {"crm.profile": profile, "crm.refuse": refuse, "web.post": post}


@asynccontextmanager
async def opened(home: Path, **sections: Any) -> AsyncGenerator[Runtime]:
    config = Config.model_validate(
        {"sandbox": SandboxConfig(warm=0), "store": StoreConfig(path=home), "policy": {"allow": ["*"]}, **sections}
    )
    async with Runtime.open(config, tools=TOOLS) as runtime:
        yield runtime


@pytest.mark.requirement("T116")
async def test_an_outcome_is_not_lost_when_there_is_no_room_for_sessions_or_for_its_rest(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(home, sessions={"most": 1}) as runtime:
        await runtime.execute("1", session="only")
        large = await runtime.execute("['x' * 1000] * 1000")
        assert (large.status, large.truncated, large.session) == ("ok", True, large.id)
        with pytest.raises(LimitExceeded):
            await runtime.execute("open('ran', 'w')", session="another")

        async def refuse(*_: object, **__: object) -> None:
            raise LimitExceeded("there is no room", limit="sessions.most", value=1)

        monkeypatch.setattr(runtime._rooms.session_stores.sessions, "open", refuse)  # pyright: ignore[reportPrivateUsage]
        lost = await runtime.execute("['x' * 1000] * 1000")
    assert (lost.status, lost.truncated, lost.session) == ("ok", True, None)
    assert "there is no room" in str(lost.left_out)


async def test_a_branch_is_a_session_of_its_own(home: Path) -> None:
    async with opened(home) as runtime:
        await runtime.execute("x = 1\nopen('f', 'w').close()", session="trunk")
        await runtime.fork_session("trunk", "branch")
        assert {each.name for each in await runtime.session_stores.sessions.list(identity=LOCAL_IDENTITY)} == {"trunk", "branch"}
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


@pytest.mark.requirement("T26", "T130")
async def test_a_session_deleted_by_another_process_does_not_live_on_in_its_interpreter(home: Path) -> None:
    async with opened(home) as runtime:
        await runtime.execute("x = 1", session="s")
        assert (await runtime.execute("x", session="s")).result == 1
        async with open_session_stores(Config(store=StoreConfig(path=home))) as elsewhere:
            await elsewhere.sessions.delete(await elsewhere.sessions.find_by_name("s", identity=LOCAL_IDENTITY))
        assert (await runtime.execute("'x' in globals()", session="s")).result is False


@pytest.mark.requirement("T130", "T131")
async def test_of_two_runtimes_over_one_store_neither_keeps_what_the_other_deleted(home: Path) -> None:
    listing = "import os\n['x' in globals(), os.listdir('.')]"
    async with opened(home) as here, opened(home) as there:
        await here.execute("x = 1\nopen('f', 'w').close()", session="s")
        assert (await here.execute("x", session="s")).result == 1
        assert await there.delete_session("s") is False  # the other process has yet to drop it
        assert [each.name for each in await there.session_stores.sessions.list_deleting(identity=LOCAL_IDENTITY)] == ["s"]
        assert (await here.execute(listing, session="s", caller="eve")).result == [False, []]
        assert (await there.execute(listing, session="s", caller="eve")).result == [False, []]
        async with asyncio.timeout(60):
            while await there.session_stores.sessions.list_deleting(identity=LOCAL_IDENTITY):
                await asyncio.sleep(0.05)
        assert here.sessions_kept == ("s",)  # the new one, of another caller
        assert await here.delete_session("s", caller="eve") is False
        async with asyncio.timeout(60):
            while any(home.joinpath("workspaces").iterdir()):
                await asyncio.sleep(0.05)


@pytest.mark.requirement("T137")
async def test_a_long_result_without_a_session_takes_no_place_of_a_session(home: Path) -> None:
    async with opened(home, sessions={"most": 1, "results_hours": 0.5, "results_most": 2}) as runtime:
        await runtime.execute("1", session="only")
        made = [await runtime.execute(f"['{number}' * 20] * 20_000") for number in range(3)]
        assert [outcome.status for outcome in made] == ["ok"] * 3
        kept = {each.name: each for each in await runtime.session_stores.sessions.list(identity=LOCAL_IDENTITY)}
        assert kept.keys() == {"only", made[1].session, made[2].session}
        assert kept[str(made[2].session)].expires - kept[str(made[2].session)].used == 1_800
        count = await runtime.execute("import os\nlen(os.listdir('results'))", session=made[2].session)
        assert (count.result, sum(each.is_dir() for each in (home / "workspaces").iterdir())) == (1, 3)


@pytest.mark.requirement("T138")
async def test_the_disk_of_sessions_is_limited_within_seconds(home: Path) -> None:
    async with opened(home, sessions={"total_mb": 1}) as runtime:
        for name in ("old", "new"):
            await runtime.execute("open('f', 'wb').write(bytes(700_000))", session=name)
        await runtime.session_stores.prune_as_it_fills()
        assert [each.name for each in await runtime.session_stores.sessions.list(identity=LOCAL_IDENTITY)] == ["new"]


@pytest.mark.requirement("T139")
async def test_sessions_that_have_named_tools_are_not_remembered_without_end(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.runtime.rooms.MOST_SPACES", 10)
    async with opened(home, sandbox=SandboxConfig(warm=0, sessions_kept=2)) as runtime:
        rooms = runtime._rooms  # pyright: ignore[reportPrivateUsage]
        await runtime.execute("import servers", session="kept")
        for number in range(50):
            assert rooms.may_rehearse(f"s{number}", "import servers")
        assert len(rooms._spaces_with_tools) <= 11  # pyright: ignore[reportPrivateUsage]
        (key,) = rooms.interpreters.names
        assert rooms.may_rehearse(key, "1")  # it still has variables to restore


@pytest.mark.requirement("T132")
async def test_of_eight_branches_to_one_name_one_is_made(home: Path) -> None:
    async with opened(home) as runtime:
        await runtime.execute("x = 1", session="trunk")
        made = await asyncio.gather(*(runtime.fork_session("trunk", "branch") for _ in range(8)), return_exceptions=True)
        assert sorted(str(getattr(each, "rule", each)) for each in made) == ["None", *["session.exists"] * 7]
        assert (runtime.sessions_kept, (await runtime.execute("x", session="branch")).result) == (("trunk", "branch"), 1)


async def test_old_sessions_and_accounts_are_forgotten_with_the_old_records(home: Path) -> None:
    async with opened(home) as runtime:
        await runtime.execute("from servers import crm\ncrm.profile()\nopen('f', 'w').close()", session="old")
        await runtime.stats()
    later = time.time() + 400 * 86_400
    config = Config(store=StoreConfig(path=home))
    async with open_durable_stores(config, lambda: later) as durable:  # a clock that jumps ages nothing
        assert await durable.session_stores.sessions.prune() == ()
        await trust_clock(durable.store, lambda: later)
    async with open_durable_stores(config, lambda: later) as durable:
        for _ in range(1_000):  # it begins by itself, in the background
            open_sessions = await durable.store.read("SELECT 1 FROM sessions WHERE ended IS NULL")
            if not open_sessions and not list((home / "workspaces").iterdir()):  # rows end first, then their files
                break
            await asyncio.sleep(0.01)
        assert (await durable.session_stores.sessions.list(identity=LOCAL_IDENTITY), list((home / "workspaces").iterdir())) == (
            (),
            [],
        )
        history = await durable.spent.read_history(tenant="local")
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
    monkeypatch.setattr("gristmill.runtime.calls.mask_and_flow_layers.MOST_SESSIONS", 1)
    async with opened(home, flows=RULE) as runtime:
        await runtime.execute(READ, session="s")
        await runtime.execute(READ, session="t")
        assert "start a new one" in ((await runtime.execute(SEND.format("x"), session="s")).error or "")


@pytest.mark.requirement("T94")
async def test_a_value_in_the_error_of_a_tool_is_known_to_come_from_there(home: Path) -> None:
    code = (
        "from mcp_client import ToolError\nfrom servers import crm, web\ntry:\n    crm.refuse()\nexcept ToolError as error:\n"
        "    mail = str(error).split()[-1]\nweb.post(text=mail)"
    )
    async with opened(home, flows=RULE) as runtime:
        assert "came from crm" in ((await runtime.execute(code, session="s")).error or "")
    async with opened(home, flows=RULE) as runtime:
        assert "start a new one" in ((await runtime.execute(SEND.format("x"), session="s")).error or "")


CARRY = f"{READ}\ndef carry() -> str:\n    'Carries.'\n    return VALUE\nfrom skills import save\n"
LOAD = "from skills import carry\nfrom servers import web\nweb.post(text={})"


@pytest.mark.requirement("T94")
async def test_a_skill_carries_what_its_session_had_seen(home: Path) -> None:
    save = CARRY.replace("VALUE", "'Annabelle Winterbottom'") + "save(carry, level='user')\n1"
    async with opened(home, flows=RULE) as runtime:
        assert (await runtime.execute(save, session="a")).result == 1
        assert "came from crm" in ((await runtime.execute(LOAD.format("carry()"), session="b")).error or "")
        assert (await runtime.execute(LOAD.format("'weather'"), session="c")).result == "weather"
    async with opened(home, flows=RULE) as runtime:
        assert "start a new one" in ((await runtime.execute(LOAD.format("carry()"), session="d")).error or "")
        assert "start a new one" in ((await runtime.execute(SEND.format("x"), session="b")).error or "")
        assert (await runtime.execute(SEND.format("x"), session="fresh")).result == "x"


@pytest.mark.requirement("T94")
async def test_a_skill_of_a_session_that_has_seen_nothing_carries_nothing(home: Path) -> None:
    save = CARRY.partition("\n1\n")[2].replace("VALUE", "'weather'") + "save(carry, level='user')\n1"
    async with opened(home, flows=RULE) as runtime:
        assert (await runtime.execute(save, session="a")).result == 1
        assert (await runtime.execute(LOAD.format("carry()"), session="b")).result == "weather"
    async with opened(home, flows=RULE) as runtime:
        assert (await runtime.execute(LOAD.format("carry()"), session="b")).result == "weather"


@pytest.mark.requirement("T94")
async def test_a_file_that_branches_share_carries_what_either_has_seen(home: Path) -> None:
    write, read = f"{READ}\nopen('note', 'w').write(secret)\n1", "from servers import web\nweb.post(text=open('note').read())"
    async with opened(home, flows=RULE) as runtime:
        await runtime.execute("1", session="trunk")
        await runtime.fork_session("trunk", "branch")
        assert (await runtime.execute(write, session="branch")).result == 1
        assert "came from crm" in ((await runtime.execute(read, session="trunk")).error or "")
    async with opened(home, flows=RULE) as runtime:
        assert "start a new one" in ((await runtime.execute(read, session="trunk")).error or "")
        await runtime.delete_session("trunk")  # the branch keeps the files, and what is known of them
        assert "start a new one" in ((await runtime.execute(read, session="branch")).error or "")
        assert (await runtime.execute(SEND.format("x"), session="trunk")).result == "x"


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
        history = await runtime._rooms.spent.read_history(tenant="one")  # pyright: ignore[reportPrivateUsage]
        by_model, by_code = history.searches
        assert (by_model.in_code, by_model.answer_tokens > 0, by_code.in_code, by_code.answer_tokens) == (False, True, True, 0)
        assert (await runtime.stats(tenant="two")).searches == 0
        # Whoever asks what the definitions cost gets one answer, from the accounts and from the catalogue.
        assert stats.definition_tokens == sum((await runtime.definition_tokens()).values()) > 0
