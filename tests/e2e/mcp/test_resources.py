"""Workspace files as resources: found, read within a cap, followed; nothing is announced that a client could not see."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import (
    EmptyResult,
    Implementation,
    ResourceListChangedNotification,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
)

from gristmill.model import Identity
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.resources.file_resources import READ_BYTES, TEMPLATE
from tests.e2e.mcp.conftest import MODES, Mode, connected, open_door, text

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


class Heard:
    """What a client was told about resources."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.news = anyio.Event()

    async def message(self, message: Any) -> None:
        """Of older connections."""
        match message:
            case ResourceListChangedNotification():
                self.add("list")
            case ResourceUpdatedNotification():
                self.add(str(message.params.uri))
            case _:
                pass

    def add(self, what: str) -> None:
        self.told.append(what)
        self.news.set()

    async def until(self, what: str) -> None:
        while what not in self.told:
            await self.news.wait()
            self.news = anyio.Event()


def options(mode: Mode, heard: Heard) -> dict[str, Any]:
    """How a client of that era is told: newer ones by what they listen to alone."""
    return {"message_handler": heard.message} if mode == "legacy" else {}


async def subscribe(client: Client, uri: str) -> None:
    """As older clients do."""
    await client.session.send_request(SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult)


@asynccontextmanager
async def following(client: Client, mode: Mode, heard: Heard, *uris: str) -> AsyncGenerator[None]:
    """Follow the list and these files, in the way of each era."""
    if mode == "legacy":
        for uri in uris:
            await subscribe(client, uri)
        yield
        return
    listening = anyio.Event()

    async def listen() -> None:
        async with client.listen(resources_list_changed=True, resource_subscriptions=list(uris)) as events:
            listening.set()
            async for event in events:
                heard.add(str(getattr(event, "uri", "list")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await listening.wait()
        yield
        tasks.cancel_scope.cancel()


async def run(client: Client, code: str, session: str = "new") -> str:
    """Run in a session; returns its handle."""
    result: Any = await client.call_tool("execute_code", {"code": code, "session": session})
    assert result.structured_content["status"] == "ok", result
    return result.structured_content["session"]


async def settled(door: McpDoor) -> None:
    """Whatever was to be announced is."""
    await asyncio.gather(*door.file_changes._telling)  # pyright: ignore[reportPrivateUsage]


async def test_the_template_is_completed_with_the_sessions_of_the_caller(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        own = await run(client, "1")
        foreign = (await (await door.hall()).session_stores.sessions.open(None, identity=Identity(caller="somebody else"))).handle
        templates = (await client.list_resource_templates()).resource_templates
        reference = ResourceTemplateReference(uri=TEMPLATE)
        found = (await client.complete(reference, {"name": "session", "value": own[:8]})).completion.values
        all_own = (await client.complete(reference, {"name": "session", "value": ""})).completion.values

    assert [template.uri_template for template in templates] == [TEMPLATE]
    assert found == [own]
    assert foreign not in all_own


async def test_a_file_is_read_up_to_a_cap_and_listed_with_its_size_beyond_it(state: Path, mode: Mode) -> None:
    code = f"open('fits', 'w').write('x' * {READ_BYTES})\nopen('large', 'w').write('x' * {READ_BYTES + 1})"
    async with open_door(state) as door, connected(door, mode) as client:
        handle = await run(client, code)
        sizes = {
            resource.name: resource.size
            for resource in (await client.list_resources()).resources
            if str(resource.uri).startswith(f"workspace://{handle}/")
        }
        fits: Any = (await client.read_resource(f"workspace://{handle}/fits")).contents[0]
        with pytest.raises(MCPError, match="read it in code"):
            await client.read_resource(f"workspace://{handle}/large")

    assert sizes == {"fits": READ_BYTES, "large": READ_BYTES + 1}
    assert len(fits.text) == READ_BYTES


async def test_whoever_follows_a_file_hears_that_it_has_changed(state: Path, mode: Mode) -> None:
    heard = Heard()
    with anyio.fail_after(60):
        async with open_door(state) as door, connected(door, mode, **options(mode, heard)) as client:
            handle = await run(client, "open('a', 'w').write('1')\nopen('b', 'w').write('1')")
            await settled(door)
            uri = f"workspace://{handle}/a"
            async with following(client, mode, heard, uri):
                heard.told.clear()
                await run(client, "open('b', 'w').write('22')", handle)
                await settled(door)
                await run(client, "open('a', 'w').write('22')", handle)
                await heard.until(uri)

    assert heard.told == [uri]


async def test_a_file_of_somebody_else_cannot_be_followed(state: Path, mode: Mode) -> None:
    heard = Heard()
    async with open_door(state) as door, connected(door, mode) as client:
        sessions = (await door.hall()).session_stores.sessions
        uri = f"workspace://{(await sessions.open(None, identity=Identity(caller='somebody else'))).handle}/a"
        if mode == "legacy":
            with pytest.raises(MCPError):
                await subscribe(client, uri)
        else:
            async with following(client, mode, heard, uri):
                bus = door.file_changes._buses[Identity()]  # pyright: ignore[reportPrivateUsage]
                await bus.publish(ResourceUpdated(uri=uri))
                await bus.publish(ResourcesListChanged())
                await heard.until("list")

    assert uri not in heard.told


async def test_the_list_is_said_to_have_changed_only_when_it_has(state: Path, mode: Mode) -> None:
    heard = Heard()
    with anyio.fail_after(60):
        async with open_door(state) as door, connected(door, mode, **options(mode, heard)) as client:
            handle = await run(client, "open('a', 'w').write('1')")
            await settled(door)
            async with following(client, mode, heard):
                heard.told.clear()
                for code in ("1", "print('x')", "open('a').read()"):
                    await run(client, code, handle)
                    await settled(door)
                await run(client, "open('b', 'w').write('1')", handle)
                await heard.until("list")
                await settled(door)

    assert heard.told == ["list"]


async def test_files_of_another_caller_are_not_announced(state: Path, mode: Mode) -> None:
    heard = Heard()

    def who(ctx: Any) -> Identity:
        return Identity(caller=ctx.session.client_params.client_info.name)

    def named(name: str) -> dict[str, Any]:
        return {"client_info": Implementation(name=name, version="1")}

    with anyio.fail_after(60):
        async with (
            open_door(state, identify_caller=who) as door,
            connected(door, mode, **named("ann"), **options(mode, heard)) as ann,
            connected(door, mode, **named("bob")) as bob,
            following(ann, mode, heard),
        ):
            await run(bob, "open('secret', 'w').write('1')")
            await settled(door)
            assert heard.told == []
            await run(ann, "open('own', 'w').write('1')")
            await heard.until("list")

    assert heard.told == ["list"]


async def test_there_is_one_prompt_and_an_unknown_one_is_an_error(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        prompts = (await client.list_prompts()).prompts
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("no such prompt")

    assert [prompt.name for prompt in prompts] == ["code_mode"]
    assert caught.value.error.code == -32602


async def test_some_of_many_calls_are_cancelled_and_the_others_are_answered(state: Path, mode: Mode) -> None:
    results: dict[int, Any] = {}
    scopes = {number: anyio.CancelScope() for number in range(6)}

    async def call(client: Client, number: int) -> None:
        with scopes[number]:
            results[number] = await client.call_tool("execute_code", {"code": f"import time\ntime.sleep(0.3)\n{number}"})

    with anyio.fail_after(60):
        async with open_door(state) as door, connected(door, mode) as client, anyio.create_task_group() as tasks:
            for number in scopes:
                tasks.start_soon(call, client, number)
            await anyio.wait_all_tasks_blocked()
            for number in (1, 3, 5):
                scopes[number].cancel()

    assert {number: result.structured_content["result"] for number, result in results.items()} == {0: 0, 2: 2, 4: 4}


async def test_the_lists_of_files_and_tools_are_said_to_be_able_to_change(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        if mode == "legacy":
            said: Any = client.server_capabilities.model_dump(by_alias=True)
        else:
            said = (await client.session.send_discover(mode))["capabilities"]

    changing = {name for name in ("tools", "prompts", "resources") if said[name].get("listChanged")}
    assert changing == {"resources", "tools"}


ROWS = "[{'n': n, 'mail': f'ann{n}' + chr(64) + 'example.com'} for n in range(2000)]"


@pytest.mark.requirement("T93")
async def test_a_result_that_did_not_fit_is_masked_when_it_is_read_as_a_resource(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        result: Any = await client.call_tool("execute_code", {"code": ROWS, "session": "new"})
        handle, left = result.structured_content["session"], result.structured_content["left_out"][0]
        content: Any = (await client.read_resource(f"workspace://{handle}/{left['path']}")).contents[0]
        rows = json.loads(content.text)
        # The placeholder is that of the session: code that gets it from the model sends the real value to tools.
        echo = await client.call_tool(
            "execute_code", {"code": f"'ann7' + chr(64) + 'example.com', {left['path']!r}", "session": handle}
        )

    assert "@example" not in content.text
    assert (len(rows), rows[7]["n"]) == (2000, 7)
    assert rows[7]["mail"] in text(echo)


@pytest.mark.requirement("T93")
async def test_pictures_with_personal_data_in_them_are_withheld(state: Path, mode: Mode) -> None:
    code = (
        "data = b'\\x89PNG\\r\\n\\x1a\\n\\0tEXtAuthor\\0Ann <ann' + bytes([64]) + b'example.com>\\0'\n"
        "open('a.png', 'wb').write(data)\n{'type': 'image', 'path': 'a.png'}"
    )
    async with open_door(state) as door, connected(door, mode) as client:
        result: Any = await client.call_tool("execute_code", {"code": code, "session": "new"})
        with pytest.raises(MCPError, match="cannot be masked"):
            await client.read_resource(f"workspace://{result.structured_content['session']}/a.png")

    assert [block.type for block in result.content] == ["text", "text"]
    assert "a.png is withheld" in result.content[1].text


@pytest.mark.requirement("T93")
async def test_what_code_writes_into_a_skill_is_masked_where_skills_are_found(state: Path, mode: Mode) -> None:
    code = (
        "def remind_customer(to: str = 'ann@example.com') -> None:\n    'Reminds the customer ann@example.com.'\n"
        "from skills import save\nsave(remind_customer, level='user')\n1"
    )
    async with open_door(state) as door, connected(door, mode) as client:
        saved = await client.call_tool("execute_code", {"code": code, "session": "new"})
        found = await client.call_tool("search_tools", {"query": "remind the customer"})

    assert text(saved).startswith("ok"), text(saved)
    assert "remind_customer" in text(found)
    assert "ann@example.com" not in text(found)
