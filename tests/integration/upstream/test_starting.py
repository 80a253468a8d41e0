"""A server's process is started whole or not at all, whenever the start is called off."""

import gc
import os
import sys
import warnings
from pathlib import Path

import anyio
import pytest

from gristmill.upstream.stdio.process_warden import open_warden
from gristmill.upstream.stdio.server_output import ServerOutput
from gristmill.upstream.stdio.stdio_transport import ServerProgram, open_stdio_transport


def test_a_start_that_is_called_off_leaves_neither_a_process_nor_its_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[object] = []

    def hear(told: "sys.UnraisableHookArgs") -> None:
        lost.append(told.exc_value)

    monkeypatch.setattr(sys, "unraisablehook", hear)
    before = children()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(40):
            anyio.run(call_off, step * 0.000_2)
            gc.collect()
    assert lost == []
    assert children() == before


async def call_off(seconds: float) -> None:
    program = ServerProgram(command="cat", env={"PATH": os.environ["PATH"]})
    async with open_warden() as warden:
        with anyio.move_on_after(seconds):
            async with open_stdio_transport(program, warden=warden, output=ServerOutput()):
                pass


def children() -> set[str]:
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}
