"""Answers made to fill our memory or to keep the event loop busy: refused before they are parsed, and their call is told."""

import json
import threading
import time
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from gristmill.config.sections.servers_section import OAuthConfig, ServerConfig
from gristmill.errors import UpstreamError, UpstreamUnavailable
from gristmill.upstream.mcp import supervisor, wire_messages
from gristmill.upstream.mcp.unwrap_results import unwrap_result
from gristmill.upstream.open_upstreams import open_upstreams
from tests.integration.upstream.conftest import call, hostile, opened, web, world
from tests.integration.upstream.test_openapi import PATHS

pytestmark = pytest.mark.anyio

LONGEST_STEP = 0.3
"""Seconds of processor time that the event loop may need for one step, on a slow machine."""


class LoopWatch:
    """Measures the longest step of the event loop, in processor time of its thread: work in other threads does not count."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        before = time.thread_time()
        while True:
            await anyio.sleep(0)
            now = time.thread_time()
            self.longest, before = max(self.longest, now - before), now


@asynccontextmanager
async def watched_loop() -> AsyncGenerator[LoopWatch]:
    watch = LoopWatch()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        yield watch
        tasks.cancel_scope.cancel()


@pytest.mark.requirement("T150")
async def test_800_000_empty_blocks_are_refused_at_once_and_fill_no_memory() -> None:
    async with opened(bad=hostile()) as upstreams:
        await call(upstreams, "bad.echo")
        tracemalloc.start()
        try:
            async with watched_loop() as watch:
                with pytest.raises(
                    UpstreamError, match=r"more than 1,000,000 values; raise message_values under \[servers.bad\]"
                ):
                    await call(upstreams, "bad.blocks", count=800_000)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 150_000_000
        assert watch.longest < LONGEST_STEP
        assert await call(upstreams, "bad.echo", a=1) == {"a": 1}


@pytest.mark.requirement("T150")
@pytest.mark.parametrize("tool", ["blocks", "blocks_stream"])
async def test_empty_blocks_over_http_are_refused_at_once(tool: str) -> None:
    async with web() as at, opened(bad=ServerConfig(url=at["plain"] + "/bad", era="legacy")) as upstreams:
        await call(upstreams, "bad.echo")
        async with watched_loop() as watch:
            with pytest.raises(UpstreamError, match="raise message_values"):
                await call(upstreams, f"bad.{tool}")
        assert watch.longest < LONGEST_STEP
        assert await call(upstreams, "bad.echo") == "fine"


@pytest.mark.requirement("T150")
async def test_a_large_answer_within_the_limits_is_read_off_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def note_thread(message: object, schema: object) -> object:
        threads.append(threading.get_ident())
        return unwrap_result(message, schema)  # pyright: ignore[reportArgumentType]

    def parse_and_note(text: bytes) -> object:
        threads.append(threading.get_ident())
        return parse(text)

    parse = wire_messages._decode  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(wire_messages, "_decode", parse_and_note)
    monkeypatch.setattr(supervisor, "unwrap_result", note_thread)
    row = {"id": 1, "name": "some name", "open": True}
    async with web() as at, opened(bad=hostile(), far=ServerConfig(url=at["plain"] + "/bad", era="legacy")) as upstreams:
        await call(upstreams, "bad.echo")
        await call(upstreams, "far.echo")
        for tool, arguments in (("bad.rows", {"count": 50_000}), ("far.rows", {}), ("far.rows_stream", {})):
            threads.clear()
            async with watched_loop() as watch:
                found = await call(upstreams, tool, **arguments)
            assert found == {"rows": [row] * 50_000}
            assert len(threads) == 2  # it was parsed, and then made a value
            assert threading.get_ident() not in threads
            assert watch.longest < LONGEST_STEP


@pytest.mark.requirement("T150")
async def test_the_limit_on_values_is_a_setting_of_the_server() -> None:
    async with opened(few=hostile(message_values=1_000), many=hostile(message_values=5_000_000)) as upstreams:
        with pytest.raises(UpstreamError, match="more than 1,000 values"):
            await call(upstreams, "few.blocks", count=1_000)
        assert await call(upstreams, "many.blocks", count=400_000) == [""] * 400_000


@pytest.mark.requirement("T151")
@pytest.mark.parametrize("hidden_id", [False, True])
async def test_deep_structured_content_fails_its_call_at_once(hidden_id: bool) -> None:
    async with opened(bad=hostile(call_seconds=600)) as upstreams:
        with pytest.raises(UpstreamError, match="nested deeper than"):
            await call(upstreams, "bad.deep_content", levels=100_000, hidden_id=hidden_id)
        with pytest.raises(UpstreamError, match="nested deeper than 128 levels"):
            await call(upstreams, "bad.deep_content", levels=200)
        deep = await call(upstreams, "bad.deep_content", levels=100)
        assert json.dumps(deep).count("[") == 100


@pytest.mark.requirement("T151")
@pytest.mark.parametrize("tool", ["deep", "deep_stream"])
async def test_deep_structured_content_over_http_fails_its_call_at_once(tool: str) -> None:
    async with web() as at, opened(bad=ServerConfig(url=at["plain"] + "/bad", era="legacy", call_seconds=600)) as upstreams:
        with pytest.raises(UpstreamError, match="nested deeper than"):
            await call(upstreams, f"bad.{tool}")
        assert await call(upstreams, "bad.echo") == "fine"


@pytest.mark.requirement("T151")
async def test_a_tool_with_a_schema_of_300_levels_is_left_out_and_the_others_work(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(bad=hostile("deep_schema", connect_seconds=600)) as upstreams:
        assert await call(upstreams, "bad.echo", a=1) == {"a": 1}
        assert "deep_schema" not in {tool.name for tool in upstreams.tools}
    assert "1 of" in caplog.text
    assert "left out" in caplog.text


@pytest.mark.requirement("T151")
@pytest.mark.parametrize(("word", "reason"), [("deepest", "nested deeper than"), ("many_values", "more than 100,000 values")])
async def test_a_listing_past_the_limits_fails_its_server_at_once(word: str, reason: str) -> None:
    async with opened(bad=hostile(word, connect_seconds=600)) as upstreams, watched_loop() as watch:
        with pytest.raises(UpstreamUnavailable, match=reason):
            await call(upstreams, "bad.echo")
        assert watch.longest < LONGEST_STEP


@pytest.mark.requirement("T151")
async def test_text_that_is_deep_json_stays_text() -> None:
    async with opened(bad=hostile()) as upstreams:
        assert await call(upstreams, "bad.deep_text") == "[" * 100_000 + "]" * 100_000


@pytest.mark.requirement("T150")
async def test_questions_past_the_limits_are_dropped_and_the_call_goes_on() -> None:
    async with opened(bad=hostile()) as upstreams:
        await call(upstreams, "bad.echo")
        async with watched_loop() as watch:
            assert await call(upstreams, "bad.deep_question") == "after the question"
        assert watch.longest < LONGEST_STEP


@pytest.mark.requirement("T150", "T153")
@pytest.mark.parametrize("limits", [{"message_values": 1_000_000}, {"message_mb": 1}])
async def test_notifications_past_the_limits_are_dropped_and_the_call_goes_on(limits: dict[str, Any]) -> None:
    async with opened(bad=hostile(**limits)) as upstreams:
        server = await call(upstreams, "bad.pid")
        async with watched_loop() as watch:
            assert await call(upstreams, "bad.large_notice", count=800_000) == "after the notice"
        assert watch.longest < LONGEST_STEP
        assert await call(upstreams, "bad.pid") == server


@pytest.mark.requirement("T150", "T153")
@pytest.mark.parametrize("limits", [{"message_values": 1_000_000}, {"message_mb": 1}])
async def test_a_notification_over_http_past_the_limits_is_dropped_and_the_call_goes_on(limits: dict[str, Any]) -> None:
    async with web() as at, opened(far=ServerConfig(url=at["plain"] + "/bad", era="legacy", **limits)) as upstreams:
        await call(upstreams, "far.echo")
        async with watched_loop() as watch:
            assert await call(upstreams, "far.notice") == "after the notice"
        assert watch.longest < LONGEST_STEP


@pytest.mark.requirement("T150")
async def test_an_answer_of_an_api_past_the_limits_is_refused(tmp_path: Path) -> None:
    async with web() as at:
        paths: dict[str, Any] = {"/values": {"get": {"operationId": "values", "responses": {"200": {"description": "ok"}}}}}
        document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": PATHS | paths}
        (tmp_path / "api.json").write_text(json.dumps(document))
        config = ServerConfig(openapi=str(tmp_path / "api.json"), base_url=at["issuer"])
        async with opened(api=config) as upstreams, watched_loop() as watch:
            with pytest.raises(UpstreamError, match=r"more than 1,000,000 values; raise message_values under \[servers.api\]"):
                await call(upstreams, "api.values")
            assert watch.longest < LONGEST_STEP


@pytest.mark.requirement("T150")
async def test_an_api_document_that_repeats_itself_is_refused_before_it_is_built() -> None:
    async with web() as at, opened(api=ServerConfig(openapi=at["issuer"] + "/document")) as upstreams, watched_loop() as watch:
        with pytest.raises(UpstreamUnavailable, match="more than 500,000 values"):
            await call(upstreams, "api.anything")
        assert watch.longest < LONGEST_STEP


@pytest.mark.requirement("T150")
async def test_metadata_of_a_login_past_the_limits_is_refused() -> None:
    class NoLogin:
        def read(self) -> str | None:
            return None

        def write(self, _text: str) -> None: ...

    def open_store(_name: str) -> NoLogin:
        return NoLogin()

    async with web("large_metadata") as at:
        config = ServerConfig(url=at["locked"] + "/mcp", oauth=OAuthConfig())
        servers = open_upstreams({"crm": config}, world(open_token_store=open_store))
        async with servers as upstreams:
            with anyio.fail_after(30), pytest.raises(UpstreamUnavailable, match="more than 10,000 values"):
                await call(upstreams, "crm.add", a=1, b=2)
