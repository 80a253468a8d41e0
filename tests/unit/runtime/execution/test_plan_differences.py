"""What a planned write would change, where that can be found out."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill.config.tree import Config
from gristmill.model import Plan, Tool
from gristmill.runtime.execution import plan_differences as difference
from gristmill.testing import CallTool, FakePool, fake_runtime


@dataclass
class Disk:
    """What the server holds, and how often it was asked."""

    files: dict[str, str] = field(default_factory=lambda: {"a.txt": "one\ntwo\n"})
    reads: int = 0

    def write_file(self, path: str, content: str) -> str:
        """Write."""
        self.files[path] = content
        return "ok"

    def read_file(self, path: str) -> dict[str, str]:
        """Read."""
        self.reads += 1
        return {"content": self.files[path]}


def planned(tmp_path: Path, disk: Disk, *, read_only: bool = True, path: str = "a.txt", **policy: Any) -> Plan:
    async def program(tools: CallTool) -> Any:
        return await tools("fs.write_file", path=path, content="one\n2\nann@example.org\n")

    async def work() -> Plan:
        config = Config.model_validate({"store": {"path": tmp_path}, "policy": {"ask": ["fs.write_file"], **policy}})
        functions = {"fs.write_file": disk.write_file, "fs.read_file": disk.read_file}
        async with fake_runtime(config, FakePool(program=program), tools=functions) as runtime:
            _annotate(runtime, read_only=read_only)
            outcome = await runtime.execute("1")
            assert outcome.plan is not None
            return outcome.plan

    return asyncio.run(work())


def _annotate(runtime: Any, *, read_only: bool) -> None:
    server = runtime._rooms.upstreams["fs"]
    server._tools = tuple(
        Tool(
            server="fs", name=tool.name, input_schema=tool.input_schema,
            annotations={"readOnlyHint": read_only and tool.name == "read_file"},
        )
        for tool in server.tools
    )  # fmt: skip


def test_the_diff_is_against_what_is_there_and_masked(tmp_path: Path) -> None:
    diff = planned(tmp_path, Disk()).calls[0].diff
    assert diff is not None
    assert diff.startswith("--- a.txt\n+++ a.txt\n@@")
    assert "-two\n+2\n+<EMAIL_" in diff


def test_a_file_that_is_not_there_has_no_diff(tmp_path: Path) -> None:
    assert planned(tmp_path, Disk(), path="new.txt").calls[0].diff is None


def test_a_tool_that_may_not_be_asked_is_not_asked(tmp_path: Path) -> None:
    disk = Disk()
    assert planned(tmp_path, disk, deny=["fs.read_file"]).calls[0].diff is None
    assert planned(tmp_path, disk, read_only=False).calls[0].diff is None
    assert disk.reads == 0


def test_a_long_diff_is_cut_and_a_huge_text_is_not_compared() -> None:
    old, new = "\n".join(map(str, range(1_000))), "\n".join(f"x{n}" for n in range(1_000))
    cut = difference._format_diff(old, new, "a")  # pyright: ignore[reportPrivateUsage]
    assert cut is not None
    assert len(cut) < difference.SHOWN + 60
    assert "characters more" in cut
    assert difference._format_diff("x" * (difference.CHARACTERS + 1), "y", "a") is None  # pyright: ignore[reportPrivateUsage]
