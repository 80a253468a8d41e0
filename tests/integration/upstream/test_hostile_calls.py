"""Calls to a server that misbehaves: each fails alone, with the right error, and the next call works."""

from typing import Any

import anyio
import pytest

from gristmill.errors import ToolFailed, UnknownTool, UpstreamError, UpstreamTimeout, UpstreamUnavailable
from gristmill.events import CallProgressed, ServerChanged
from gristmill.upstream.base import InputAnswer, InputRequest
from gristmill.upstream.mcp.blob import Blob
from gristmill.upstream.open_upstreams import open_upstreams
from tests.integration.upstream.conftest import call, hostile, opened, recorder, world

pytestmark = pytest.mark.anyio


async def test_a_server_that_dies_in_a_call_fails_that_call_and_is_started_again() -> None:
    async with opened(bad=hostile()) as upstreams:
        first = await call(upstreams, "bad.pid")
        with pytest.raises(UpstreamUnavailable):
            await call(upstreams, "bad.die")
        assert await call(upstreams, "bad.pid") != first


async def test_a_call_without_an_answer_times_out_and_is_cancelled_at_the_server() -> None:
    async with opened(bad=hostile(call_seconds=1)) as upstreams:
        with pytest.raises(UpstreamTimeout):
            await call(upstreams, "bad.hang")
        assert await call(upstreams, "bad.cancelled") == [1]


async def test_a_caller_that_gives_up_cancels_the_call_at_the_server() -> None:
    async with opened(bad=hostile()) as upstreams:
        await call(upstreams, "bad.echo")
        with anyio.move_on_after(0.5):
            await call(upstreams, "bad.hang")
        assert await call(upstreams, "bad.cancelled") == [1]


async def test_a_server_that_stops_answering_is_replaced_by_a_new_process() -> None:
    events, emit = recorder()
    with anyio.fail_after(30):
        async with open_upstreams({"bad": hostile(call_seconds=0.2)}, world(emit=emit)) as upstreams:
            first = await call(upstreams, "bad.pid")
            for _ in range(3):
                with pytest.raises(UpstreamTimeout):
                    await call(upstreams, "bad.hang")
            with pytest.raises(UpstreamUnavailable, match="next try in"):  # the breaker is open: told at once
                await call(upstreams, "bad.hang")
            while events.count(ServerChanged(server="bad", state="ready")) < 2:
                await anyio.sleep(0.01)
            assert await call(upstreams, "bad.pid") != first


@pytest.mark.parametrize("place", [{}, {"id_last": True}])
async def test_an_answer_of_100_mb_fails_its_call_and_no_other(place: dict[str, Any]) -> None:
    async with opened(bad=hostile(message_mb=2)) as upstreams:
        first = await call(upstreams, "bad.pid")
        with pytest.raises(UpstreamError, match="message_mb"):
            await call(upstreams, "bad.huge", mb=100, **place)
        assert await call(upstreams, "bad.pid") == first


async def test_a_large_answer_below_the_cap_arrives_whole() -> None:
    async with opened(bad=hostile(message_mb=32)) as upstreams:
        assert len(await call(upstreams, "bad.huge", mb=20)) == 20_000_000


async def test_a_huge_answer_without_a_readable_id_ends_the_connection_not_us() -> None:
    async with opened(bad=hostile(message_mb=2)) as upstreams:
        with pytest.raises(UpstreamUnavailable):
            await call(upstreams, "bad.huge", mb=10, no_id=True)
        assert await call(upstreams, "bad.echo", a=1) == {"a": 1}


async def test_output_without_an_end_ends_the_connection_not_us() -> None:
    async with opened(bad=hostile(message_mb=1)) as upstreams:
        with pytest.raises(UpstreamUnavailable):
            await call(upstreams, "bad.endless")


async def test_rubbish_between_messages_is_skipped() -> None:
    async with opened(bad=hostile("banner")) as upstreams:
        assert await call(upstreams, "bad.rubbish") == "still here"


async def test_answers_to_questions_nobody_asked_are_ignored() -> None:
    async with opened(bad=hostile()) as upstreams:
        assert await call(upstreams, "bad.wrong_ids") == "right"


async def test_an_answer_that_is_not_mcp_is_an_error_of_the_server() -> None:
    async with opened(bad=hostile()) as upstreams:
        with pytest.raises(UpstreamError):
            await call(upstreams, "bad.not_mcp")
        assert await call(upstreams, "bad.echo") == {}


async def test_a_server_that_stops_reading_does_not_hang_a_large_call() -> None:
    async with opened(bad=hostile(call_seconds=1)) as upstreams:
        assert await call(upstreams, "bad.stop_reading") == "deaf now"
        with pytest.raises(UpstreamTimeout):
            await call(upstreams, "bad.echo", text="x" * 5_000_000)


async def test_a_failing_tool_raises_what_it_said() -> None:
    async with opened(bad=hostile()) as upstreams:
        with pytest.raises(ToolFailed, match="it broke with nothing"):
            await call(upstreams, "bad.fail")
        with pytest.raises(ToolFailed, match="no such thing"):
            await call(upstreams, "bad.rpc_error")


async def test_structured_content_that_breaks_its_schema_is_refused_unless_told_otherwise() -> None:
    async with opened(bad=hostile(), lax=hostile(check_output=False)) as upstreams:
        with pytest.raises(ToolFailed, match="output schema at n"):
            await call(upstreams, "bad.bad_output")
        assert await call(upstreams, "bad.bad_output", n=3) == {"n": 3}
        assert await call(upstreams, "lax.bad_output") == {"n": "many"}


async def test_text_that_is_json_becomes_data_and_several_blocks_a_list() -> None:
    async with opened(bad=hostile()) as upstreams:
        assert await call(upstreams, "bad.json") == [{"id": "007", "n": 1.5}]
        assert await call(upstreams, "bad.several") == ["one", {"two": 2}]


async def test_images_audio_and_resources_arrive_as_blobs_and_links() -> None:
    async with opened(bad=hostile()) as upstreams:
        image = Blob(data=b"\x89PNG", mime="image/png")
        extras = [
            image,
            Blob(data=b"\x89PNG", mime="audio/wav"),
            Blob(data=b"\x89PNG", mime="application/zip", uri="file:///a.bin"),
            {"uri": "file:///a.txt", "mime_type": "text/plain", "text": "words"},
            {"uri": "file:///b", "name": "b", "mime_type": "text/csv"},
        ]
        assert await call(upstreams, "bad.blobs") == ["see", *extras]
        assert await call(upstreams, "bad.blobs", structured=True) == {"n": 1, "_content": extras}
        with pytest.raises(ToolFailed):
            await call(upstreams, "bad.bad_base64")


async def test_an_unknown_tool_or_server_answers_with_near_names() -> None:
    async with opened(bad=hostile()) as upstreams:
        with pytest.raises(UnknownTool) as caught:
            await call(upstreams, "bad.ecko")
        assert caught.value.near[0] == "echo"
        with pytest.raises(UnknownTool) as caught:
            await call(upstreams, "bed.echo")
        assert caught.value.near == ("bad",)


async def test_progress_reaches_the_listener_and_a_flood_of_it_is_cut() -> None:
    events, emit = recorder()
    with anyio.fail_after(30):
        async with open_upstreams({"bad": hostile()}, world(emit=emit)) as upstreams:
            await call(upstreams, "bad.progress")
            steps = [event for event in events if isinstance(event, CallProgressed)]
            expected = CallProgressed(execution="e", call=1, tool="bad.progress", progress=1, total=3, message="working")
            assert steps[0] == expected
            events.clear()
            await call(upstreams, "bad.progress", steps=3_000)
            assert len([event for event in events if isinstance(event, CallProgressed)]) <= 1_000


async def test_sampling_roots_and_questions_are_refused_politely_when_nobody_can_answer() -> None:
    async with opened(bad=hostile()) as upstreams:
        for tool in ("sample", "roots", "elicit"):
            heard = await call(upstreams, f"bad.{tool}")
            assert "not supported" in heard["heard"]["refused"]


async def test_a_question_reaches_the_person_and_their_time_does_not_count() -> None:
    asked: list[InputRequest] = []

    async def answer(request: InputRequest) -> InputAnswer:
        asked.append(request)
        await anyio.sleep(1.0)  # longer than the call may take: this is the person thinking
        return InputAnswer(action="accept", content={"name": "Ann"})

    with anyio.fail_after(30):
        async with open_upstreams({"bad": hostile(call_seconds=0.6)}, world(ask=answer)) as upstreams:
            await upstreams["bad"].wait_until_settled()
            heard = await call(upstreams, "bad.elicit")
    assert heard == {"heard": {"action": "accept", "content": {"name": "Ann"}}}
    assert asked[0].message == "who are you?"
    assert asked[0].call is not None
    assert asked[0].call.tool == "bad.elicit"
