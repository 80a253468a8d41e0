"""Errors lose credentials and folders of the host, and nothing else."""

import asyncio

import pytest

from gristmill.errors import NotFound, ToolFailed, UpstreamUnavailable
from gristmill.guard.mask.clean_errors import CleanErrors
from gristmill.model import ToolCall, ToolResult

TOKEN = "ghp_" + "a1B2" * 9
CLEAN = CleanErrors(frozenset({"correct horse/battery"}), {"/srv/mill/state": "<state>", "/srv/mill": "<mill>"})
CALL = ToolCall(id=1, tool="crm.get", arguments={})


@pytest.mark.requirement("T74")
@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain: no order 17 for ann@example.com", "plain: no order 17 for ann@example.com"),
        (f"401 for {TOKEN}: expired", "401 for <SECRET>: expired"),
        ("said correct horse/battery!", "said <SECRET>!"),
        ("GET /x?k=correct%20horse%2Fbattery failed", "GET /x?k=<SECRET> failed"),
        ("postgres://mill:tr0ub4dor&3@db/x is down", "postgres://mill:<SECRET>@db/x is down"),
        ("no such file: '/srv/mill/state/workspaces/x'", "no such file: '<state>/workspaces/x'"),
        ("in /srv/mill/code.py", "in <mill>/code.py"),
        ("/srv/millet and /my/srv/mill stay", "/srv/millet and /my/srv/mill stay"),
    ],
)
def test_credentials_and_own_folders_are_hidden(text: str, cleaned: str) -> None:
    assert CLEAN.clean_text(text) == cleaned


@pytest.mark.requirement("T74")
def test_an_error_keeps_its_class_and_fields_and_loses_its_cause() -> None:
    async def proceed(_call: ToolCall) -> ToolResult:
        error = NotFound(f"no {TOKEN}", near=("b",))
        error.add_note(f"sent {TOKEN}")
        raise error from ValueError(TOKEN)

    with pytest.raises(NotFound) as caught:
        asyncio.run(_call(proceed))
    assert (caught.value.message, caught.value.near, caught.value.__cause__) == ("no <SECRET>; did you mean b?", ("b",), None)
    assert caught.value.__notes__ == ["sent <SECRET>"]


@pytest.mark.requirement("T74")
def test_a_result_that_is_an_error_is_cleaned_and_a_value_is_not_touched() -> None:
    async def fail(_call: ToolCall) -> ToolResult:
        return ToolResult(value=f"bad {TOKEN}", is_error=True)

    async def work(_call: ToolCall) -> ToolResult:
        return ToolResult(value=f"good {TOKEN}")

    assert asyncio.run(_call(fail)).value == "bad <SECRET>"
    assert asyncio.run(_call(work)).value == f"good {TOKEN}"


@pytest.mark.requirement("T74")
def test_errors_raised_in_the_context_are_cleaned() -> None:
    with pytest.raises(UpstreamUnavailable, match=r"^bind\(source=<state>/catalog\): <SECRET>$"), CLEAN.clean_raised():
        raise UpstreamUnavailable(f"bind(source=/srv/mill/state/catalog): {TOKEN}")
    with CLEAN.clean_raised():
        pass
    with pytest.raises(ToolFailed, match="plain"), CleanErrors().clean_raised():
        raise ToolFailed("plain")


async def _call(proceed: object) -> ToolResult:
    return await CLEAN(CALL, proceed)  # pyright: ignore[reportArgumentType]
