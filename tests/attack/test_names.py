"""Names that a guest invents: none of them is kept, whatever its length and characters, wherever calls are counted or recorded."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Runtime
from gristmill.ledger.anomalies import Anomalies
from gristmill.model import Outcome
from gristmill.runs.tenant_counts import TenantCounts
from gristmill.runtime.calls.recorded_names import UNKNOWN_TOOL
from tests.attack.guests import RAW
from tests.attack.wall import reachable


def get(number: int = 0) -> int:
    """A tool that exists."""
    return number


INVENTED = """
from mcp_client import call_mcp_tool
from servers import crm
def attempt(name):
    try:
        call_mcp_tool(name, {})
    except Exception as error:
        pass
for n in range(60):
    attempt(f"crm.secret-card-4111111111111111-{n}")
    attempt(f"evil{n}.\\x1b[31mred\\u202e")
    attempt(f"gristmill.invented-{n}")
    attempt("x" * 300 + str(n))
attempt("unlimited." + "x" * 100_000)
crm.get(number=1)
"""


@asynccontextmanager
async def opened(folder: Path, emit: Any = None, **sections: Any) -> AsyncGenerator[Runtime]:
    reachable(folder)
    settings = {"store": {"path": str(folder)}, "sandbox": {"isolation": "namespaces", "warm": 1}} | sections
    async with Runtime.open(Config.model_validate(settings), tools={"crm.get": get}, serving=True) as runtime:
        yield runtime


def execute(folder: Path, code: str, **options: Any) -> tuple[Outcome, dict[str, str], list[Any]]:
    """Run a program; its outcome, everything that is kept of it by place, and the events that were sent."""

    async def work() -> tuple[Outcome, dict[str, str], list[Any]]:
        events: list[Any] = []
        async with opened(folder) as runtime:
            outcome = await runtime.execute(code, emit=events.append, **options)
            await runtime.audit.flush()
            records = [entry.record for entry in await runtime.audit.list(limit=1_000)]
            rooms = runtime._rooms  # pyright: ignore[reportPrivateUsage]
            tally = TenantCounts()
            tally.add(outcome)
            kept = {
                "outcome": repr((outcome.tools_called, outcome.error_type)),
                "audit": repr([(record.tool, record.id, record.rule, record.details) for record in records]),
                "stats": repr(await runtime.stats()),
                "spent": repr(await rooms.intake.store.read("SELECT tool FROM spent_calls")),
                "metrics": runtime.metrics.render().decode(),
                "habits": _read_habits(rooms.recorder.anomalies),
                "tally": repr(tally),
                "events": repr([event for event in events if "Call" in type(event).__name__]),
            }
            return outcome, kept, events

    return asyncio.run(work())


def _read_habits(anomalies: Anomalies) -> str:
    return repr([habits.tools for habits in anomalies._sessions.values()])  # pyright: ignore[reportPrivateUsage]


@pytest.mark.requirement("T70")
def test_only_names_of_the_catalogue_are_kept_anywhere(tmp_path: Path) -> None:
    outcome, kept, events = execute(tmp_path, INVENTED, session="inventor")
    assert outcome.status == "ok", outcome
    assert outcome.tools_called == (UNKNOWN_TOOL, "crm.get")
    for place, text in kept.items():
        assert "crm.get" in text or place in ("metrics", "stats"), (place, text[:500])
        assert not any(word in text for word in ("secret-card", "evil", "[31m", "invented", "xxx", "\x1b", "\u202e")), (
            place,
            text[:500],
        )
        assert len(text) < 200_000, place
    assert f"'{UNKNOWN_TOOL}'" in kept["audit"]
    assert {event.tool for event in events if "Call" in type(event).__name__} == {UNKNOWN_TOOL, "crm.get"}


@pytest.mark.requirement("T70")
def test_an_invented_name_is_named_in_its_error_alone_shortened_and_escaped(tmp_path: Path) -> None:
    code = """
from mcp_client import call_mcp_tool
try:
    call_mcp_tool("evil.\\x1b[31m" + "x" * 500)
except Exception as error:
    told = (error.code, str(error))
told
"""
    outcome, _, _ = execute(tmp_path, code)
    told = outcome.result[1]
    assert outcome.result[0] == "not_found.tool"
    assert len(told) < 300
    assert "\x1b" not in told


@pytest.mark.requirement("T70")
def test_a_direct_call_of_an_invented_tool_is_kept_as_unknown(tmp_path: Path) -> None:
    async def work() -> Outcome:
        async with opened(tmp_path) as runtime:
            return await runtime.call("evil.\x1b[31m" + "x" * 100_000, {})

    outcome = asyncio.run(work())
    assert (outcome.status, outcome.tools_called) == ("failed", (UNKNOWN_TOOL,))
    assert len(outcome.error or "") < 400


KINDS = {
    "control": "Card4111\x1b[31m\n\r\0",
    "bidi": "Error\u202e\u2066",
    "lines": "A\u2028B\u2029C\x85",
    "tags": "E\U000e0041",
    "long": "E" * 5_000,
}


@pytest.mark.requirement("T71")
@pytest.mark.parametrize("way", KINDS)
@pytest.mark.parametrize("forged", [False, True], ids=["class", "frame"])
def test_the_class_of_an_error_is_short_and_on_one_line(tmp_path: Path, way: str, forged: bool) -> None:
    name = KINDS[way]
    raised = f"raise type({name.replace(chr(0), '')!r}, (Exception,), {{}})('x')"
    sent = f"{RAW}send(['done', None, 'boom', {name!r}, None])\nwait_for_end()"
    outcome, kept, _ = execute(tmp_path, sent if forged else raised)
    assert outcome.status == "failed"
    kind = outcome.error_type or ""
    assert 0 < len(kind) <= 200
    assert kind.isprintable()
    assert all(len(text) < 50_000 for text in kept.values())
