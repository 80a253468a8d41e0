"""Data stays in the sandbox: rows are filtered there, and a result too large to go back is used whole by the next program."""

from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import LimitsConfig, SandboxConfig, StoreConfig
from gristmill.runtime.recording.token_accounts import render_returned
from gristmill.shaping.token_counter import load_token_counter

pytestmark = pytest.mark.anyio
count_tokens = load_token_counter()
needs_tokens = pytest.mark.skipif(count_tokens is None, reason="there is no tokenizer for this Python")
BYTES = 20_000_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest) -> Path:
    folder = state / f"large-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    return folder


def orders(count: int) -> list[dict[str, Any]]:
    """The orders of a year."""
    states = ("open", "paid", "late")
    return [
        {"id": n, "customer": f"customer {n % 997}", "state": states[n % 3], "amount": n * 37 % 1000, "note": f"order number {n}"}
        for n in range(count)
    ]


def blob(size: int) -> str:
    """One large text."""
    return "0123456789abcdef" * (size // 16)


def config(home: Path) -> Config:
    limits = LimitsConfig(memory_mb=1_024, result_bytes=32_000_000, file_mb=64, workspace_mb=200, call_bytes=100_000_000)
    return Config.model_validate(
        {"sandbox": SandboxConfig(warm=0, limits=limits), "store": StoreConfig(path=home), "policy": {"allow": ["*"]}}
    )


@needs_tokens
@pytest.mark.requirement("P11")
async def test_ten_thousand_rows_are_filtered_for_less_than_a_hundredth_of_their_tokens(home: Path) -> None:
    assert count_tokens is not None
    code = """
from servers import crm
late = [row for row in crm.orders(count=10_000) if row["state"] == "late" and row["amount"] > 990]
{"late": len(late), "amount": sum(row["amount"] for row in late), "first": late[:3]}
"""
    async with Runtime.open(config(home), tools={"crm.orders": orders}) as runtime:
        outcome = await runtime.execute(code)
        expected = [row for row in orders(10_000) if row["state"] == "late" and row["amount"] > 990]
        assert outcome.result["late"] == len(expected) > 0
        stats = await runtime.stats()
        history = await runtime._rooms.spent.read_history(tenant="local")  # pyright: ignore[reportPrivateUsage]
    returned = count_tokens(render_returned(outcome))
    (call,) = history.calls
    assert call.result_tokens > 250_000
    assert returned < call.result_tokens / 100
    assert (history.executions[0].returned_tokens, stats.calls) == (returned, 1)
    # A program that hands everything back gets less than a hundredth of it back all the same.
    async with Runtime.open(config(home), tools={"crm.orders": orders}) as runtime:
        whole = await runtime.execute("from servers import crm\ncrm.orders(count=10_000)")
        assert whole.truncated
        assert count_tokens(render_returned(whole)) < call.result_tokens / 100


@pytest.mark.parametrize("session", ["s", None])
@pytest.mark.requirement("P12")
async def test_twenty_megabytes_are_used_whole_by_the_next_execution_and_never_go_back(home: Path, session: str | None) -> None:
    async with Runtime.open(config(home), tools={"crm.blob": blob}) as runtime:
        first = await runtime.execute(f"from servers import crm\ncrm.blob(size={BYTES})", session=session)
        assert (first.status, first.truncated, first.session is not None) == ("ok", True, True)
        (left,) = first.left_out
        assert len(render_returned(first)) < 20_000
        code = f"import json\ntext = json.load(open({left.path!r}))\n[len(text), text == '0123456789abcdef' * ({BYTES} // 16)]"
        second = await runtime.execute(code, session=first.session)
        assert second.result == [BYTES, True], second.error
    async with Runtime.open(config(home)) as runtime:  # and after a restart
        assert (await runtime.execute(code, session=first.session)).result == [BYTES, True]


async def test_the_line_that_says_how_to_look_at_what_was_left_out_works(home: Path) -> None:
    async with Runtime.open(config(home), tools={"crm.orders": orders}) as runtime:
        first = await runtime.execute("from servers import crm\ncrm.orders(count=5_000)")
        (left,) = first.left_out
        looked = await runtime.execute(left.how, session=first.session)
        assert (looked.status, looked.error) == ("ok", None), left.how
