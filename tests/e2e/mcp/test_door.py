"""The two tools in both eras of the protocol, in memory."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import AudioContent, ImageContent, PromptReference, ResourceListChangedNotification
from msgspec.structs import force_setattr

from gristmill.errors import SandboxUnavailable
from gristmill.model import LOCAL_IDENTITY, Identity
from gristmill.runtime.runtime import Runtime
from tests.e2e.mcp.conftest import MODES, Mode, connected, open_door, text

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


async def test_code_runs_and_its_outcome_comes_back_as_fields_and_as_text(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        result = await client.call_tool("execute_code", {"code": "print('hi')\n{'a': [1, 2]}"})

    fields: Any = result.structured_content
    assert text(result) == 'ok\nresult: {"a":[1,2]}\noutput:\nhi'
    assert (fields["status"], fields["output"], fields["result"]) == ("ok", "hi\n", {"a": [1, 2]})
    assert not result.is_error


async def test_what_a_search_shows_can_be_imported_and_called(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        found = text(await client.call_tool("search_tools", {"query": "get by number", "limit": 1}))
        result = await client.call_tool("execute_code", {"code": "from servers.crm import get\nget(number=5)"})

    assert found.startswith("from servers.crm import get")
    assert result.structured_content["result"] == {"number": 5}  # pyright: ignore[reportOptionalSubscript]


async def test_a_program_that_fails_is_an_error_with_an_id_to_resume(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        result = await client.call_tool("execute_code", {"code": "1/0"})

    assert result.is_error
    assert text(result).startswith("failed, id ")
    assert "ZeroDivisionError" in text(result)


async def test_a_session_keeps_variables_for_whoever_has_its_handle(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        opened = await client.call_tool("execute_code", {"code": "x = 41", "session": "new"})
        handle = opened.structured_content["session"]  # pyright: ignore[reportOptionalSubscript]
        result = await client.call_tool("execute_code", {"code": "x + 1", "session": handle})

    assert "(kept until 20" in text(opened)
    assert result.structured_content["result"] == 42  # pyright: ignore[reportOptionalSubscript]
    assert result.structured_content["session"] == handle  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.requirement("T46")
async def test_a_handle_of_somebody_else_is_an_unknown_session(state: Path, mode: Mode) -> None:
    async with open_door(state) as door:
        foreign = (await (await door.hall()).session_stores.sessions.open(None, identity=Identity(caller="somebody else"))).handle
        async with connected(door, mode) as client:
            result = await client.call_tool("execute_code", {"code": "1", "session": foreign})

    assert result.is_error
    assert result.structured_content["code"] == "not_found.session"  # pyright: ignore[reportOptionalSubscript]


async def test_a_run_in_the_background_is_waited_for_by_its_id(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        started = await client.call_tool("execute_code", {"code": "print('done')\n7", "background": True})
        number = started.structured_content["id"]  # pyright: ignore[reportOptionalSubscript]
        result = await client.call_tool("execute_code", {"resume": number})

    assert started.structured_content["status"] == "running"  # pyright: ignore[reportOptionalSubscript]
    assert result.structured_content["result"] == 7  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"code": 5},
        {"code": "1", "timeout": -1},
        {"code": "1", "kode": 1},
        {"code": "1", "background": "perhaps"},
        {"code": None},
    ],
)
async def test_wrong_arguments_are_explained_to_the_model(state: Path, mode: Mode, arguments: dict[str, Any]) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        result = await client.call_tool("execute_code", arguments)

    assert result.is_error
    assert text(result).startswith("wrong arguments")


async def test_an_unknown_tool_is_a_protocol_error(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("no_such_tool", {})

    assert caught.value.error.code == -32602


async def test_a_time_out_asked_for_ends_the_run(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        result = await client.call_tool("execute_code", {"code": "while True: pass", "timeout": 0.2})

    assert text(result).startswith("limited (seconds), id ")


async def test_output_lines_and_calls_are_progress(state: Path, mode: Mode) -> None:
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    code = "from servers.crm import get\nprint('line one')\nget(1)\nimport time\ntime.sleep(1)"
    async with open_door(state) as door, connected(door, mode) as client:
        await client.call_tool("execute_code", {"code": code}, progress_callback=hear)

    assert "line one" in " ".join(heard)
    assert "[1/1 calls, last crm.get]" in " ".join(heard)


async def test_cancelling_a_call_stops_its_run(state: Path, mode: Mode) -> None:
    started, ended = anyio.Event(), anyio.Event()

    class Watching:
        """A runtime that says when a run begins and how it ends."""

        def __init__(self, runtime: Runtime) -> None:
            self._runtime, self.config = runtime, runtime.config

        async def execute(self, code: str, **options: Any) -> Any:
            started.set()
            try:
                return await self._runtime.execute(code, **options)
            finally:
                ended.set()

    async with open_door(state) as door:
        runtime: Any = Watching(await door.hall())
        force_setattr(door, "hall", lambda: _value(runtime))
        async with connected(door, mode) as client:
            with anyio.fail_after(20):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.call_tool, "execute_code", {"code": "while True: pass"})
                    await started.wait()
                    tasks.cancel_scope.cancel()
                await ended.wait()
                assert not (await client.call_tool("execute_code", {"code": "1"})).is_error


async def _value(value: Any) -> Any:
    return value


async def test_a_runtime_that_cannot_open_is_said_in_every_answer(state: Path, mode: Mode) -> None:
    async def closed() -> Runtime:
        raise SandboxUnavailable("no user namespaces here")

    async with open_door(state, hall=closed) as door, connected(door, mode) as client:
        result = await client.call_tool("execute_code", {"code": "1"})

    assert result.is_error
    assert "no user namespaces here" in text(result)


async def test_workspace_files_are_resources_of_their_own_caller(state: Path, mode: Mode) -> None:
    code = "open('notes.txt', 'w').write('hello')\nopen('a b.bin', 'wb').write(b'\\x89\\xff')"
    async with open_door(state) as door, connected(door, mode) as client:
        opened: Any = await client.call_tool("execute_code", {"code": code, "session": "new"})
        handle = opened.structured_content["session"]
        listed = {resource.name: str(resource.uri) for resource in reversed((await client.list_resources()).resources)}
        content: Any = (await client.read_resource(f"workspace://{handle}/notes.txt")).contents[0]
        image: Any = (await client.read_resource(f"workspace://{handle}/a%20b.bin")).contents[0]
        foreign = (await (await door.hall()).session_stores.sessions.open(None, identity=Identity(caller="somebody else"))).handle
        for uri in (f"workspace://{foreign}/notes.txt", f"workspace://{handle}/../../x", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)

    assert listed["notes.txt"] == f"workspace://{handle}/notes.txt"
    assert content.text == "hello"
    assert image.blob


async def test_images_and_sounds_that_the_result_asks_for_are_content_blocks(state: Path, mode: Mode) -> None:
    code = (
        "open('chart.png', 'wb').write(b'\\x89PNG')\nopen('beep.wav', 'wb').write(b'RIFF')\n"
        "[{'type': 'image', 'path': 'chart.png'}, {'type': 'audio', 'path': 'beep.wav'}]"
    )
    async with open_door(state) as door, connected(door, mode) as client:
        result = await client.call_tool("execute_code", {"code": code, "session": "new"})

    _, image, sound = result.content
    assert isinstance(image, ImageContent)
    assert isinstance(sound, AudioContent)
    assert (image.mime_type, sound.mime_type) == ("image/png", "audio/x-wav")


async def test_a_client_hears_when_files_have_come(state: Path, mode: Mode) -> None:
    heard = anyio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ResourceListChangedNotification):
            heard.set()

    async def listen(client: Client) -> None:
        async with client.listen(resources_list_changed=True) as events:
            listening.set()
            async for _ in events:
                heard.set()

    listening = anyio.Event()
    async with open_door(state) as door, connected(door, mode, message_handler=hear) as client:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                if mode != "legacy":
                    tasks.start_soon(listen, client)
                    await listening.wait()
                await client.call_tool("execute_code", {"code": "open('a', 'w').write('x')", "session": "new"})
                await heard.wait()
                tasks.cancel_scope.cancel()


async def test_server_names_are_completed_and_the_prompt_explains_the_pattern(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        prompt = await client.get_prompt("code_mode", {"server": "crm"})
        found = await client.complete(PromptReference(name="code_mode"), {"name": "server", "value": "c"})

    assert 'server="crm"' in str(prompt.messages[0].content)
    assert found.completion.values == ["crm"]


async def test_the_surface_is_the_same_bytes_every_time(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        first = (await client.list_tools()).model_dump_json()
        await client.call_tool("search_tools", {"query": "anything"})
        second = (await client.list_tools()).model_dump_json()

    assert first == second
    assert "search_tools" in (door.instructions)


@pytest.mark.requirement("M4")
async def test_a_handle_of_the_same_caller_in_another_tenant_is_an_unknown_session(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        sessions = (await door.hall()).session_stores.sessions
        foreign = (await sessions.open(None, identity=Identity(tenant="another"))).handle
        result: Any = await client.call_tool("execute_code", {"code": "1", "session": foreign})

    assert result.is_error
    assert result.structured_content["code"] == "not_found.session"


@pytest.mark.requirement("M4")
async def test_a_new_session_says_how_long_it_is_kept_and_an_ended_one_that_it_is_over(state: Path, mode: Mode) -> None:
    async with open_door(state) as door, connected(door, mode) as client:
        opened: Any = await client.call_tool("execute_code", {"code": "1", "session": "new"})
        handle = opened.structured_content["session"]
        sessions = (await door.hall()).session_stores.sessions
        await sessions.delete(await door.find_session(handle, LOCAL_IDENTITY))
        ended: Any = await client.call_tool("execute_code", {"code": "1", "session": handle})

    assert "kept until" in text(opened)
    assert ended.is_error
    assert ended.structured_content["code"] == "not_found.session"
