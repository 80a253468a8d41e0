"""Questions from a server of the newest revision: passed on to whoever can answer, else refused."""

import anyio
import pytest

from gristmill.errors import CallRefused, ToolFailed, UpstreamError
from gristmill.upstream.base import InputAnswer, InputRequest
from gristmill.upstream.open_upstreams import open_upstreams
from tests.integration.upstream.conftest import call, opened, world
from tests.servers.warm import server_of

pytestmark = pytest.mark.anyio


async def test_a_question_is_passed_on_with_its_call_and_the_call_goes_on() -> None:
    asked: list[InputRequest] = []

    async def answer(request: InputRequest) -> InputAnswer:
        asked.append(request)
        return InputAnswer(action="accept", content={"name": "Ann"})

    with anyio.fail_after(30):
        async with open_upstreams({"new": server_of("modern.py")}, world(ask=answer)) as upstreams:
            assert await call(upstreams, "new.greet") == "hello Ann"
            assert upstreams["new"].status.era == "modern"
    assert (asked[0].server, asked[0].message) == ("new", "who are you?")
    assert asked[0].call is not None
    assert asked[0].call.tool == "new.greet"
    assert asked[0].schema is not None


async def test_a_person_who_declines_fails_the_call() -> None:
    async def answer(_request: InputRequest) -> InputAnswer:
        return InputAnswer(action="decline")

    with anyio.fail_after(30):
        async with open_upstreams({"new": server_of("modern.py")}, world(ask=answer)) as upstreams:
            with pytest.raises(ToolFailed):
                await call(upstreams, "new.greet")


async def test_a_refusal_of_ours_reaches_the_caller_as_it_is() -> None:
    async def answer(_request: InputRequest) -> InputAnswer:
        raise CallRefused("no questions in this session", rule="ask")

    with anyio.fail_after(30):
        async with open_upstreams({"new": server_of("modern.py")}, world(ask=answer)) as upstreams:
            with pytest.raises(CallRefused) as caught:
                await call(upstreams, "new.greet")
            assert caught.value.rule == "ask"


@pytest.mark.parametrize("tool", ["greet", "think", "look"])
async def test_where_nobody_can_answer_the_error_is_clear(tool: str) -> None:
    async with opened(new=server_of("modern.py")) as upstreams:
        with pytest.raises(UpstreamError) as caught:
            await call(upstreams, f"new.{tool}")
        assert type(caught.value) is UpstreamError
