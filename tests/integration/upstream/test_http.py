"""Servers over HTTP: both eras, the older transport, and a server that answers wrongly."""

import anyio
import pytest

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ToolFailed, UpstreamError, UpstreamTimeout, UpstreamUnavailable
from gristmill.events import CallProgressed
from gristmill.upstream.open_upstreams import open_upstreams
from tests.integration.upstream.conftest import call, opened, recorder, web, world

pytestmark = pytest.mark.anyio


async def test_a_streamable_http_server_is_called_in_both_eras() -> None:
    async with web() as at:
        url = at["plain"] + "/mcp"
        async with opened(new=ServerConfig(url=url), old=ServerConfig(url=url, era="legacy")) as upstreams:
            for name, era in (("new", "modern"), ("old", "legacy")):
                assert await call(upstreams, f"{name}.add", a=1, b=2) == 3
                assert upstreams[name].status.era == era
                with pytest.raises(ToolFailed, match="out of order"):
                    await call(upstreams, f"{name}.broken")


async def test_the_older_transport_works() -> None:
    async with web() as at, opened(old=ServerConfig(url=at["plain"] + "/old/sse", transport="sse")) as upstreams:
        assert await call(upstreams, "old.add", a=1, b=2) == 3


async def test_progress_arrives_over_http() -> None:
    events, emit = recorder()
    async with web() as at:
        servers = {"s": ServerConfig(url=at["plain"] + "/mcp")}
        async with open_upstreams(servers, world(emit=emit)) as upstreams:
            await call(upstreams, "s.slow")
    progress = [event for event in events if isinstance(event, CallProgressed)]
    assert [(event.progress, event.total, event.message) for event in progress] == [(1, 2, "half")]


async def test_a_change_of_the_list_is_heard_in_the_newest_revision() -> None:
    async with web() as at, opened(s=ServerConfig(url=at["plain"] + "/mcp")) as upstreams:
        await call(upstreams, "s.grow")
        while "grown" not in {tool.name for tool in upstreams.tools}:
            await anyio.sleep(0.01)
        assert await call(upstreams, "s.grown") == "new"


async def test_fifty_calls_at_once_get_their_own_answers() -> None:
    async with web() as at, opened(s=ServerConfig(url=at["plain"] + "/mcp")) as upstreams:
        found: dict[int, int] = {}

        async def one(number: int) -> None:
            found[number] = await call(upstreams, "s.add", a=number, b=1)

        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(one, number)
    assert found == {number: number + 1 for number in range(50)}


async def test_an_answer_past_the_cap_fails_its_call_and_no_other() -> None:
    async with web() as at, opened(bad=ServerConfig(url=at["plain"] + "/bad", message_mb=1)) as upstreams:
        for tool in ("huge", "stream", "packed"):
            with pytest.raises(UpstreamError):
                await call(upstreams, f"bad.{tool}")
            assert await call(upstreams, "bad.echo") == "fine"
        assert upstreams["bad"].status.state == "ready"


async def test_a_large_answer_below_the_cap_arrives() -> None:
    async with web() as at, opened(bad=ServerConfig(url=at["plain"] + "/bad", message_mb=8)) as upstreams:
        assert len(await call(upstreams, "bad.huge")) == 5_000_000
        assert len(await call(upstreams, "bad.stream")) == 5_000_000


async def test_wrong_answers_are_errors_and_a_foreign_redirect_is_not_followed() -> None:
    async with web() as at, opened(bad=ServerConfig(url=at["plain"] + "/bad", call_seconds=1)) as upstreams:
        for tool in ("page", "error", "away"):
            with pytest.raises(UpstreamError):
                await call(upstreams, f"bad.{tool}")
        with pytest.raises(UpstreamTimeout):
            await call(upstreams, "bad.hang")
        assert await call(upstreams, "bad.echo") == "fine"


async def test_a_header_carries_the_resolved_secret_and_no_message_shows_it() -> None:
    async with web() as at:
        config = ServerConfig(url=at["plain"] + "/bad", headers={"Authorization": "Bearer ${env:TOKEN}"})
        async with open_upstreams({"bad": config}, world(environ={"TOKEN": "s3cr3t-value"})) as upstreams:
            assert await call(upstreams, "bad.token") == "Bearer s3cr3t-value"
            assert "s3cr3t-value" not in repr(upstreams.status) + repr(config)


async def test_a_server_that_wants_a_token_says_so() -> None:
    async with web() as at, opened(bad=ServerConfig(url=at["plain"] + "/refused")) as upstreams:
        with pytest.raises(UpstreamUnavailable, match="401"):
            await call(upstreams, "bad.echo")


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    async with opened(bad=ServerConfig(url="http://127.0.0.1:1/mcp")) as upstreams:
        with pytest.raises(UpstreamUnavailable, match="Connect"):
            await call(upstreams, "bad.echo")


async def test_a_reference_that_leads_nowhere_is_named() -> None:
    config = ServerConfig(url="http://127.0.0.1:1/mcp", headers={"X-Key": "${env:NOT_SET}"})
    async with opened(bad=config) as upstreams:
        with pytest.raises(UpstreamUnavailable, match="NOT_SET"):
            await call(upstreams, "bad.echo")


async def test_a_session_that_the_server_forgot_is_opened_anew_and_the_call_is_sent_again() -> None:
    async with web() as at, opened(old=ServerConfig(url=at["plain"] + "/forgetful", era="legacy")) as upstreams:
        assert await call(upstreams, "old.echo") == "fine"
        await call(upstreams, "old.away")
        assert await call(upstreams, "old.echo") == "fine"
