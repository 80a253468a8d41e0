"""`gristmill stats`, as a person and as a script uses it."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.serve.cli.app import app
from gristmill.shaping.token_counter import load_token_counter

pytestmark = pytest.mark.skipif(load_token_counter() is None, reason="there is no tokenizer for this Python")


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = state / f"stats-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, value in (("GRISTMILL_STORE__PATH", str(folder)), ("NO_COLOR", "1"), ("COLUMNS", "200")):
        monkeypatch.setenv(name, value)
    return folder


def stats(*options: str) -> str:
    done = CliRunner().invoke(app, ("stats", *options))
    assert (done.exit_code, done.exception) == (0, None), done.output
    return done.stdout


def rows(count: int) -> list[dict[str, str]]:
    """Many rows."""
    return [{"name": f"row {number}", "note": "x y z " * 10} for number in range(count)]


def unused(text: str) -> str:
    """Never called."""
    return text


async def work(home: Path) -> list[str]:
    """Two executions of ours and one of another tenant; returns their ids."""
    config = Config.model_validate(
        {"sandbox": SandboxConfig(warm=0), "store": StoreConfig(path=home), "policy": {"allow": ["*"]}}
    )
    async with Runtime.open(config, tools={"crm.rows": rows, "idle.unused": unused}) as runtime:
        await runtime.search("something that nobody has")
        large = await runtime.execute("from servers import crm\nlen(crm.rows(count=500))", session="a")
        small = await runtime.execute("from servers import crm\nlen(crm.rows(count=1))", session="b")
        other = await runtime.execute("1", session="b", tenant="other")
        return [large.id, small.id, other.id]


def test_what_was_spent_is_shown_to_people_and_scripts(home: Path) -> None:
    assert "No executions were found" in stats()
    asyncio.run(work(home))
    found = json.loads(stats("--json"))
    assert (found["executions"], found["calls"], found["searches"], found["tools"]) == (2, 2, 1, 2)
    ways = found["savings"]["ways"]
    assert ways["direct"]["resent"] > ways["code"]["resent"] > 0
    assert {advice["subject"] for advice in found["advice"] if advice["kind"] == "unused_server"} == {"idle"}
    assert "o200k" in found["method"]
    alone = [json.loads(stats("--json", "--session", name))["tokens_saved"] for name in "ab"]
    assert found["tokens_saved"] < sum(alone), "the search cost something"
    assert found["costs"]["plain"]["direct"] == round(ways["direct"]["resent"] * 3 / 1e6, 6)
    shown = stats()
    assert f"{found['tokens_saved']:,} tokens saved" in shown
    assert ("2 executions, 2 tool calls, 1 searches" in shown, "idle: none of its tools was called" in shown) == (True, True)


def test_one_session_alone_may_have_been_dearer_and_that_is_said(home: Path) -> None:
    asyncio.run(work(home))
    small = json.loads(stats("--json", "--session", "b"))
    assert (small["executions"], small["calls"]) == (1, 1)
    assert small["savings"]["against_direct"]["resent"] < 0
    assert "more" in small["summary"] or "dearer" in small["summary"], small["summary"]
    assert json.loads(stats("--json", "--days", "0"))["executions"] == 0


def test_one_execution_has_an_account_of_its_own_against_both_other_ways(home: Path) -> None:
    large, small, foreign = asyncio.run(work(home))
    of_large, of_small = (json.loads(stats("--json", "--execution", each, "--days", "0")) for each in (large, small))
    counted = [(found["executions"], found["calls"], found["searches"]) for found in (of_large, of_small)]
    assert counted == [(1, 1, 0), (1, 1, 0)]
    for baseline in ("against_direct", "against_search"):
        assert of_large["savings"][baseline]["resent"] > 0 > of_small["savings"][baseline]["once"]
    assert of_large["advice"] == []
    assert "1 executions, 1 tool calls" in stats("--execution", small)
    for nobodys in (foreign, "nonsense"):
        done = CliRunner().invoke(app, ("stats", "--execution", nobodys))
        assert done.exit_code != 0
        assert "is in the token accounts" in str(done.exception)
