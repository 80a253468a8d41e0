"""A wait is shown on a terminal once it has taken half a second, and nowhere else."""

import asyncio
import io

import pytest
from rich.console import Console

from gristmill.serve.cli.terminal import show_waiting as waiting


async def wait_for(event: asyncio.Event) -> str:
    await event.wait()
    return "done"


def show(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool = True) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=is_terminal, width=80)
    monkeypatch.setattr(waiting, "stderr", lambda: console)
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.0)

    async def run() -> str:
        event = asyncio.Event()

        def describe() -> str:
            event.set()
            return "waiting for crm"

        if not is_terminal:
            asyncio.get_running_loop().call_soon(event.set)
        return await waiting.show_waiting(wait_for(event), describe)

    assert asyncio.run(run()) == "done"
    return stream.getvalue()


def test_a_long_wait_says_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "waiting for crm" in show(monkeypatch)


def test_in_a_pipe_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show(monkeypatch, is_terminal=False) == ""


def test_an_error_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(waiting.show_waiting(fail(), str))
