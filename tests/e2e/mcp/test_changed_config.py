"""Changes of the configuration take effect while the gateway is open."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from gristmill import Runtime
from gristmill.config.config_source import ConfigSource
from gristmill.config.tree import load_config
from gristmill.errors import ConfigError
from gristmill.events import ConfigChanged
from gristmill.runtime.open.follow_config import ConfigFollower, describe_change
from gristmill.serve.mcp.get_runtime import wrap_runtime
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.mcp_server import build_server
from tests.e2e.mcp.conftest import MODES, Mode, text

pytestmark = pytest.mark.anyio
STATISTICS = "[servers.figures]\npython = 'statistics'\ninclude = ['mean', 'median']\n"
TEXTS = "[servers.texts]\npython = 'textwrap'\ninclude = ['indent']\n"
ALLOW = "[policy]\ndefault = 'allow'\n"


class Followed:
    """An open gateway whose configuration file the test writes."""

    def __init__(self, runtime: Runtime, door: McpDoor, file: Path, source: ConfigSource) -> None:
        self.runtime, self.door, self.file = runtime, door, file
        self.reported: list[ConfigChanged] = []
        self._follower = ConfigFollower(runtime, source, self.reported.append)

    async def write(self, content: str) -> None:
        """Writes the file, and lets the follower look until it is at rest."""
        self.file.write_text(content)
        await self._follower.look()
        await self._follower.look()


@asynccontextmanager
async def followed(state: Path, folder: Path, content: str = ALLOW + STATISTICS) -> AsyncGenerator[Followed]:
    file = folder / "gristmill.toml"
    file.write_text(f"[store]\npath = '{state}'\n[sandbox]\nwarm = 1\n{content}")
    source = ConfigSource.from_file(file, load_config)
    async with Runtime.open(source.load(), serving=True) as runtime:
        door = McpDoor(hall=wrap_runtime(runtime), instructions="", server_names=("figures",), on_wire=True)
        runtime.config_listeners.append(door.take_note)
        try:
            yield Followed(runtime, door, file, source)
        finally:
            await door.close()


def whole(state: Path, content: str) -> str:
    return f"[store]\npath = '{state}'\n[sandbox]\nwarm = 1\n{content}"


async def run(client: Client, code: str, **arguments: Any) -> Any:
    return await client.call_tool("execute_code", {"code": code, **arguments})


@pytest.mark.parametrize("mode", MODES)
async def test_a_session_uses_servers_that_came_and_misses_those_that_went(state: Path, tmp_path: Path, mode: Mode) -> None:
    async with followed(state, tmp_path) as gateway, Client(build_server(gateway.door), mode=mode) as client:
        first = await run(client, "from servers.figures import mean\nmean([1, 3])", session="new")
        session = first.structured_content["session"]
        await gateway.write(whole(state, ALLOW + STATISTICS + TEXTS))
        both = await run(client, "from servers.texts import indent\nmean([1, 5]), indent('a', '> ')", session=session)
        await gateway.write(whole(state, ALLOW + TEXTS))
        gone = await run(client, "mean([1, 3])", session=session)
        stays = await run(client, "indent('a', '> ')", session=session)

    assert first.structured_content["result"] == 2
    assert both.structured_content["result"] == [3, "> a"]
    assert "there is no tool 'figures.mean'" in text(gone)
    assert stays.structured_content["result"] == "> a"
    assert [(change.added, change.removed) for change in gateway.reported] == [(("texts",), ()), ((), ("figures",))]


async def test_a_bad_edit_keeps_the_old_configuration_and_says_so(state: Path, tmp_path: Path) -> None:
    async with followed(state, tmp_path) as gateway:
        for wrong in (
            "[servers.figures]\npyton = 'statistics'\n",
            "[servers",
            "[[policy.rules]]\nmatch='a.b'\neffect='deny'\nwhen='('",
        ):
            await gateway.write(wrong)
            assert gateway.reported[-1].error
            assert "the earlier one stays in force" in describe_change(gateway.reported[-1])
        outcome = await gateway.runtime.execute("from servers.figures import mean\nmean([1, 3])")
        await gateway.write(whole(state, ALLOW + STATISTICS + TEXTS))

    assert "servers.figures.pyton: unknown key" in str(gateway.reported[0].error)
    assert (len(gateway.reported), outcome.result) == (4, 2)
    assert gateway.reported[-1] == ConfigChanged(added=("texts",))


async def test_a_rule_holds_from_the_next_call_on(state: Path, tmp_path: Path) -> None:
    code = "from servers.figures import mean\nmean([1, 3])"
    async with followed(state, tmp_path) as gateway:
        assert (await gateway.runtime.execute(code)).result == 2
        await gateway.write(whole(state, ALLOW + "deny = ['figures.*']\n" + STATISTICS))
        denied = await gateway.runtime.execute(code)
        await gateway.write(whole(state, ALLOW + STATISTICS))
        assert (await gateway.runtime.execute(code)).result == 2

    assert "policy.deny" in str(denied.error)
    assert [change.policy for change in gateway.reported] == [True, True]


async def test_what_needs_a_restart_is_named_and_not_pretended(state: Path, tmp_path: Path) -> None:
    async with followed(state, tmp_path) as gateway:
        await gateway.write(whole(state, "concurrency = 7\n[mask]\nmode = 'full'\n" + ALLOW + STATISTICS))
        assert gateway.runtime.config.mask.mode != "full"

    assert gateway.reported == [ConfigChanged(waiting=("sandbox", "mask"))]
    assert describe_change(gateway.reported[0]) == "the configuration was changed: restart to use the new [sandbox], [mask]"


async def test_a_file_is_used_when_two_looks_saw_the_same(state: Path, tmp_path: Path) -> None:
    async with followed(state, tmp_path) as gateway:
        follower = gateway._follower  # pyright: ignore[reportPrivateUsage]
        gateway.file.write_text("[servers")
        await follower.look()
        gateway.file.write_text(whole(state, ALLOW + STATISTICS + TEXTS))
        await follower.look()
        assert gateway.reported == []
        await follower.look()
        await follower.look()

    assert gateway.reported == [ConfigChanged(added=("texts",))]


async def test_a_secret_of_a_new_server_is_masked(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEW_TOKEN", "hunter2hunter2hunter2")
    server = "[servers.other]\ncommand = 'false'\nenv = { NEW_TOKEN = '${env:NEW_TOKEN}' }\n"
    async with followed(state, tmp_path) as gateway:
        code = "from servers.figures import mean\nmean(['hunter2hunter2hunter2'])"
        before = await gateway.runtime.execute(code)
        await gateway.write(whole(state, ALLOW + STATISTICS + server))
        after = await gateway.runtime.execute(code)

    assert "hunter2hunter2hunter2" in str(before.error)
    assert "hunter2hunter2hunter2" not in str(after.error)


async def test_clients_are_told_and_the_description_names_what_changed(state: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    told = anyio.Event()

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)
        told.set()

    async with followed(state, tmp_path) as gateway:
        server = build_server(gateway.door)
        async with Client(server, mode="legacy", message_handler=hear) as old, Client(server, mode="2026-07-28") as new:
            before = (await old.list_tools()).tools
            async with new.listen(tools_list_changed=True) as events:
                await gateway.write(whole(state, ALLOW + TEXTS))
                with anyio.fail_after(20):
                    event = await anext(aiter(events))
                    await told.wait()
            after = (await old.list_tools()).tools
            await gateway.write(whole(state, ALLOW + STATISTICS))
            again = (await old.list_tools()).tools

    assert heard == ["ToolListChangedNotification"] * len(heard)
    assert type(event).__name__ == "ToolsListChanged"
    assert str(after[0].description).endswith(" Connected since the start: texts; no longer connected: figures.")
    assert [tool.description for tool in again] == [tool.description for tool in before]
    assert after[1:] == before[1:]


async def test_a_runtime_for_one_run_cannot_be_changed(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text(whole(state, ""))
    async with Runtime.open(file) as runtime:
        with pytest.raises(ConfigError, match="serving=True"):
            await runtime.change_config(load_config(file))
