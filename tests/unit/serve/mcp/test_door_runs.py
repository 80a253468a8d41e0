"""The runs that the MCP door opens for itself: with arms where a rollout is configured, and only then."""

import asyncio
from pathlib import Path

import pytest

from gristmill.config.sections.rollout_section import GuardrailConfig, RolloutConfig
from gristmill.config.tree import Config, StoreConfig
from gristmill.errors import ConfigError
from gristmill.model import LOCAL_IDENTITY
from gristmill.rollout.execution_arms import ExecutionArms
from gristmill.runs.run_arms import RunArms
from gristmill.serve.mcp.door_runs import DoorRuns
from gristmill.serve.mcp.get_runtime import wrap_runtime
from gristmill.testing import fake_runtime
from tests.unit.rollout.rollout_configs import make_config

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(("rollout", "arms"), [(RolloutConfig(), RunArms), (make_config(), ExecutionArms)])
async def test_runs_have_arms_where_a_rollout_is_configured(tmp_path: Path, rollout: RolloutConfig, arms: type[RunArms]) -> None:
    async with fake_runtime(Config(store=StoreConfig(path=tmp_path), rollout=rollout)) as runtime:
        runs = DoorRuns()
        served = await runs.get(wrap_runtime(runtime))

        assert type(served.arms) is arms
        assert await runs.get(wrap_runtime(runtime)) is served


async def test_the_door_ends_the_watch_that_it_began(tmp_path: Path) -> None:
    async with fake_runtime(Config(store=StoreConfig(path=tmp_path), rollout=make_config())) as runtime:
        runs = DoorRuns()
        arms = (await runs.get(wrap_runtime(runtime))).arms
        await arms.choose_turn(LOCAL_IDENTITY, None)
        watches = [task for task in asyncio.all_tasks() if "watch_forever" in repr(task)]
        await runs.close()

        assert [task.done() for task in watches] == [True]


async def test_no_call_goes_on_without_a_rollout_that_cannot_be_used(tmp_path: Path) -> None:
    rollout = make_config(guardrails=(GuardrailConfig(when="weather > 1"),))
    async with fake_runtime(Config(store=StoreConfig(path=tmp_path), rollout=rollout)) as runtime:
        runs = DoorRuns()
        for _ in range(2):
            with pytest.raises(ConfigError):
                await runs.get(wrap_runtime(runtime))
