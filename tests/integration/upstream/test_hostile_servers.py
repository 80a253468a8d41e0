"""Servers that misbehave when they start, list or end: the others never notice, and nothing of them stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import mcp.client.session
import pytest

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ToolFailed, UpstreamUnavailable
from gristmill.events import ServerChanged
from gristmill.upstream.base import PrintingServer
from gristmill.upstream.mcp import supervisor as supervise
from gristmill.upstream.open_upstreams import open_upstreams
from tests.integration.upstream.conftest import call, hostile, opened, recorder, world
from tests.servers import ROOT

pytestmark = pytest.mark.anyio


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def _gone(*pids: int) -> None:
    with anyio.fail_after(10):
        while any(map(_is_alive, pids)):
            await anyio.sleep(0.01)


async def test_a_server_that_never_answers_delays_no_other_and_says_so() -> None:
    async with opened(never=hostile("never", connect_seconds=1), good=hostile()) as upstreams:
        assert await call(upstreams, "good.echo", a=1) == {"a": 1}
        await upstreams["never"].wait_until_settled()
        status = upstreams["never"].status
        assert (status.state, status.tools) == ("failed", 0)
        assert status.error == "never was not ready within 1 s"


async def test_many_silent_servers_do_not_take_the_place_of_one_that_is_called() -> None:
    silent = {f"s{n}": hostile("never", connect_seconds=20) for n in range(9)}
    async with opened(**silent, good=hostile()) as upstreams:
        assert await call(upstreams, "good.echo", a=1) == {"a": 1}


async def test_a_server_that_dies_at_once_leaves_its_last_words_in_the_status() -> None:
    async with opened(bad=hostile("dies_at_once")) as upstreams:
        await upstreams["bad"].wait_until_settled()
        error = upstreams["bad"].status.error
        assert error is not None
        assert "cannot open the database" in error
        assert "\n" not in error


async def test_a_command_that_does_not_exist_is_an_error_with_a_name() -> None:
    async with opened(bad=hostile().model_copy(update={"command": "no-such-program"})) as upstreams:
        with pytest.raises(UpstreamUnavailable, match="no-such-program"):
            await call(upstreams, "bad.echo")


async def test_after_some_failures_callers_are_told_at_once() -> None:
    async with opened(bad=hostile("dies_at_once")) as upstreams:
        for _ in range(3):
            with pytest.raises(UpstreamUnavailable):
                await call(upstreams, "bad.echo")
        with pytest.raises(UpstreamUnavailable, match="next try in"):
            await call(upstreams, "bad.echo")


async def test_a_flood_of_rubbish_ends_the_connection() -> None:
    async with opened(bad=hostile("flood")) as upstreams:
        await upstreams["bad"].wait_until_settled()
        assert upstreams["bad"].status.state == "failed"


async def test_malformed_tools_are_mended_or_dropped_and_the_rest_works() -> None:
    async with opened(bad=hostile("malformed")) as upstreams:
        assert await call(upstreams, "bad.empty_schema") == "called empty_schema"
        names = {tool.name for tool in upstreams.tools}
        assert {"echo", "no_schema", "empty_schema", "list_schema", "bad_output_schema", "bad_hints"} <= names
        assert "" not in names
        schemas = {tool.name: tool.input_schema for tool in upstreams.tools}
        assert schemas["no_schema"] == {"type": "object"}


async def test_tools_that_nobody_could_read_are_left_out() -> None:
    async with opened(bad=hostile("bombs")) as upstreams:
        await upstreams["bad"].wait_until_settled()
        names = [tool.name for tool in upstreams.tools]
        assert "deep" not in names
        assert "wide" not in names
        assert names.count("echo") == 1


@pytest.mark.requirement("T37")
async def test_pages_without_end_end() -> None:
    async with opened(bad=hostile("pages"), round=hostile("circles")) as upstreams:
        await upstreams["bad"].wait_until_settled()
        await upstreams["round"].wait_until_settled()
        assert 0 < upstreams["bad"].status.tools <= 400
        assert upstreams["round"].status.state == "ready"


async def test_a_changed_list_is_listed_again() -> None:
    async with opened(bad=hostile()) as upstreams:
        await call(upstreams, "bad.grow")
        while "grown_0" not in {tool.name for tool in upstreams.tools}:
            await anyio.sleep(0.01)
        assert await call(upstreams, "bad.grown_0") == "called grown_0"


async def test_a_storm_of_changes_is_listed_once_or_twice() -> None:
    async with opened(bad=hostile()) as upstreams:
        await call(upstreams, "bad.storm")
        while "after_the_storm" not in {tool.name for tool in upstreams.tools}:
            await anyio.sleep(0.01)
        (count,) = await call(upstreams, "bad.listings")
        assert count <= 3  # at first, and at most twice for five thousand messages


async def test_a_list_that_is_always_out_of_date_is_not_listed_all_the_time() -> None:
    async with opened(bad=hostile("restless")) as upstreams:
        for _ in range(300):
            await call(upstreams, "bad.echo")
        (count,) = await call(upstreams, "bad.listings")
        assert count < 30  # about one a second; without a pause it would be as many as calls


async def test_a_server_that_falls_silent_while_idle_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "_CHECK_SECONDS", 0.2)
    events, emit = recorder()
    with anyio.fail_after(30):
        async with open_upstreams({"bad": hostile(health_seconds=0.1)}, world(emit=emit)) as upstreams:
            first = await call(upstreams, "bad.pid")
            await call(upstreams, "bad.stop_reading")
            while events.count(ServerChanged(server="bad", state="ready")) < 2:
                await anyio.sleep(0.01)
            assert await call(upstreams, "bad.pid") != first


async def test_only_included_tools_are_offered() -> None:
    config = hostile(include=("e*", "json"), exclude=("env", "endless"))
    async with opened(bad=config) as upstreams:
        await upstreams["bad"].wait_until_settled()
        assert [tool.name for tool in upstreams.tools] == ["echo", "elicit", "json"]


async def test_a_server_that_dies_on_the_probe_is_reached_the_old_way() -> None:
    async with opened(bad=hostile("dies_on_probe", era="auto")) as upstreams:
        assert await call(upstreams, "bad.echo", a=1) == {"a": 1}
        assert upstreams["bad"].status.era == "legacy"


async def test_a_server_that_is_silent_on_the_probe_costs_its_time_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp.client.session, "DISCOVER_TIMEOUT_SECONDS", 0.3)
    config = hostile("silent_on_probe", era="auto")
    with anyio.fail_after(30):
        async with open_upstreams({"bad": config}, world(cache=tmp_path)) as upstreams:
            assert await call(upstreams, "bad.echo", a=1) == {"a": 1}
        # From here on a probe would outlast the test.
        monkeypatch.setattr(mcp.client.session, "DISCOVER_TIMEOUT_SECONDS", 600.0)
        async with open_upstreams({"bad": config}, world(cache=tmp_path)) as upstreams:
            assert upstreams["bad"].status.era == "legacy"
            assert await call(upstreams, "bad.echo", a=1) == {"a": 1}


async def test_a_second_start_knows_the_tools_without_starting_the_server(tmp_path: Path) -> None:
    config = hostile(f"log={tmp_path / 'starts'}")
    with anyio.fail_after(30):
        async with open_upstreams({"bad": config}, world(cache=tmp_path / "cache")) as upstreams:
            await upstreams["bad"].wait_until_settled()
            tools = upstreams.tools
        async with open_upstreams({"bad": config}, world(cache=tmp_path / "cache")) as upstreams:
            assert upstreams.tools == tools
            assert upstreams["bad"].status.state == "idle"
    assert (tmp_path / "starts").read_text() == "started\n"


async def test_a_server_sees_only_what_its_configuration_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_SECRET", "do-not-pass-on")
    monkeypatch.setenv("API_TOKEN", "t0ken-value")
    config = hostile(env={"THEIRS": "${env:API_TOKEN}", "PLAIN": "x"})
    async with opened(bad=config) as upstreams:
        seen = await call(upstreams, "bad.env")
    assert seen.keys() - {"LC_CTYPE"} == {"PATH", "HOME", "LANG", "THEIRS", "PLAIN"}
    assert seen["THEIRS"] == "t0ken-value"


async def test_a_secret_is_in_no_error_and_no_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_HERE", "s3cr3t-value")
    config = hostile(env={"API_TOKEN": "${env:TOKEN_HERE}"})
    events, emit = recorder()
    with anyio.fail_after(30):
        async with open_upstreams({"bad": config}, world(emit=emit)) as upstreams:
            with pytest.raises(ToolFailed, match=r"it broke with \*\*\*"):
                await call(upstreams, "bad.fail")
            with pytest.raises(UpstreamUnavailable):
                await call(upstreams, "bad.whisper")
            await call(upstreams, "bad.echo")
    errors = [event.error for event in events if isinstance(event, ServerChanged) and event.error]
    assert errors == ["bad closed the connection; it said: fatal: cannot use ***"]
    assert "s3cr3t-value" not in repr(config)


async def test_closing_ends_even_a_stubborn_server_and_its_children() -> None:
    async with opened(bad=hostile("stubborn")) as upstreams:
        pids = await call(upstreams, "bad.grandchild")
        assert all(map(_is_alive, pids))
    await _gone(*pids)


async def test_a_dead_server_is_noticed_although_its_child_holds_the_pipes() -> None:
    async with opened(bad=hostile()) as upstreams:
        server, child = await call(upstreams, "bad.grandchild")
        os.kill(server, signal.SIGKILL)
        await _gone(server, child)
        assert (await call(upstreams, "bad.pid")) != [server]


_HOST = """
import anyio, os, sys
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.model import ToolCall
from gristmill.upstream.open_upstreams import Surroundings, open_upstreams

async def main():
    config = ServerConfig(command=sys.executable, args=("-I", "-S", sys.argv[1], "stubborn"), era="legacy")
    async with open_upstreams({"bad": config}, Surroundings(environ=os.environ)) as upstreams:
        result = await upstreams(ToolCall(id=1, tool="bad.grandchild", arguments={}))
        print(*result.value, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


async def test_killing_us_ends_every_server_and_its_children() -> None:
    command = [sys.executable, "-c", _HOST, str(ROOT / "tests" / "servers" / "hostile.py")]
    host = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert host.stdout
    try:
        with anyio.fail_after(30):
            line = await anyio.to_thread.run_sync(host.stdout.readline)
        pids = [int(word) for word in line.split()]
        assert len(pids) == 2
        assert all(map(_is_alive, pids))
    finally:
        host.kill()
        host.wait()
        host.stdout.close()
    await _gone(*pids)


async def test_a_failed_server_says_what_happened_and_keeps_its_last_lines() -> None:
    program = (
        "import sys; sys.stderr.write('starting\\nError: no token for s3cr3t-value\\n    at x (y:1:2)\\nNode.js v20.20.2\\n')"
    )
    config = ServerConfig(command=sys.executable, args=("-c", program), env={"KEY": "${env:KEY_HERE}"}, era="legacy")
    with anyio.fail_after(30):
        async with open_upstreams({"bad": config}, world(environ={**os.environ, "KEY_HERE": "s3cr3t-value"})) as upstreams:
            with pytest.raises(UpstreamUnavailable, match=r"it said: Error: no token for \*\*\*$"):
                await call(upstreams, "bad.x")
            bad = upstreams["bad"]
            assert isinstance(bad, PrintingServer)
            assert bad.last_output == ("starting", "Error: no token for ***", "    at x (y:1:2)", "Node.js v20.20.2")


async def test_text_on_stdout_that_is_no_message_is_named_as_such() -> None:
    async with opened(bad=ServerConfig(command="echo", args=("Usage: serve [port]",), era="legacy")) as upstreams:
        with pytest.raises(UpstreamUnavailable, match=r"on stdout, where only messages of MCP belong: 'Usage: serve \[port\]'"):
            await call(upstreams, "bad.x")
