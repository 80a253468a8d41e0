"""A rollout that is changed in the file of a running gateway holds from the next conversation on; one that cannot be used does not."""

from pathlib import Path

import pytest

from gristmill.events import ConfigChanged
from gristmill.model import Identity
from gristmill.rollout.assign_arm import ArmChoice, Asker
from gristmill.rollout.open_rollouts import serve_rollouts
from tests.e2e.mcp.test_changed_config import ALLOW, STATISTICS, followed, whole

ARMS = """[rollout]
name = "live"
users = {{ "ann" = "{arm}" }}
[rollout.arms.direct]
mode = "direct"
[rollout.arms.code]
mode = "{mode}"
[[rollout.stages]]
percent = 100
"""
BAD = '[[rollout.guardrails]]\nwhen = "goodness > 1 %"\n'


@pytest.mark.anyio
async def test_arms_and_overrides_change_without_a_restart(state: Path, tmp_path: Path) -> None:
    async with followed(state, tmp_path) as gateway, serve_rollouts(gateway.runtime) as rollouts:

        async def choose(caller: str = "bob") -> ArmChoice | None:
            return await rollouts.choose_arm(Asker(identity=Identity(caller=caller)))

        assert (await choose(), rollouts.watching) == (None, None)
        base = whole(state, ALLOW + STATISTICS)
        await gateway.write(base + ARMS.format(arm="direct", mode="code"))
        assert gateway.reported[-1] == ConfigChanged(rollout=True)
        assert rollouts.watching is not None, "its guardrails are looked at from now on"
        await rollouts.take_step("start", by="test")
        found = [await choose(), await choose("ann")]
        assert [(one.arm, one.mode, one.reason) for one in found if one] == [
            ("code", "code", "assigned"), ("direct", "direct", "override"),
        ]  # fmt: skip

        await gateway.write(base + ARMS.format(arm="code", mode="hybrid"))
        found = [await choose(), await choose("ann")]
        assert [(one.arm, one.mode) for one in found if one] == [("code", "hybrid"), ("code", "hybrid")]

        await gateway.write(base + ARMS.format(arm="code", mode="auto") + BAD)
        assert "goodness" in (gateway.reported[-1].error or "")
        assert (kept := await choose()) is not None
        assert kept.mode == "hybrid", "what cannot be used changes nothing"

        await gateway.write(base)
        assert await choose() is None
