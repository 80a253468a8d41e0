# pyright: reportMissingTypeStubs=false
"""Another flag system decides, and our rollout answers programs that ask for a flag."""

import asyncio
from pathlib import Path

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.flag_evaluation import FlagResolutionDetails, Reason
from openfeature.provider.in_memory_provider import InMemoryFlag, InMemoryProvider

from gristmill.config.tree import Config
from gristmill.model import Identity
from gristmill.rollout.assign_arm import Asker
from gristmill.rollout.feature_flags import OpenFeatureFlags, RolloutProvider
from gristmill.rollout.open_rollouts import open_rollouts
from tests.unit.rollout.rollout_configs import ARMS

ANN = Asker(identity=Identity(tenant="acme", caller="ann"), session="s")
STARTED = {"name": "try-code", "arms": ARMS, "stages": [{"percent": 50}]}


def config(folder: Path, **rollout: object) -> Config:
    return Config.model_validate({"store": {"path": folder}, "rollout": {**STARTED, **rollout}})


def test_a_flag_of_another_system_decides_and_its_users_are_compared(tmp_path: Path) -> None:
    def by_tenant(_flag: object, context: EvaluationContext) -> FlagResolutionDetails[str]:
        arm = "code" if context.attributes["tenant"] == "acme" and context.attributes["user"] == "ann" else "nonsense"
        return FlagResolutionDetails(value=arm, variant=arm, reason=Reason.TARGETING_MATCH)

    flags = {"the-arm": InMemoryFlag("a", {"a": "x"}, context_evaluator=by_tenant)}  # pyright: ignore[reportArgumentType]
    api.set_provider_and_wait(InMemoryProvider(flags), "gristmill")  # pyright: ignore[reportArgumentType]

    async def work() -> None:
        async with open_rollouts(config(tmp_path, flag="the-arm")) as rollouts:
            await rollouts.take_step("start", by="ann")
            choice = await rollouts.choose_arm(ANN)
            assert choice is not None
            assert (choice.arm, choice.reason, choice.is_compared) == ("code", "flag", True)
            other = await rollouts.choose_arm(Asker(identity=Identity(caller="bob")))
            assert other is not None
            assert other.reason == "assigned"  # the flag names no arm of ours
            await rollouts.take_step("rollback", by="ann")
            gone = await rollouts.choose_arm(ANN)
            assert gone is not None
            assert (gone.arm, gone.reason) == ("direct", "off")
            assert await OpenFeatureFlags().find_arm("no-such-flag", ANN, "unit") is None

    try:
        asyncio.run(work())
    finally:
        api.clear_providers()


def test_a_rollout_answers_as_a_provider(tmp_path: Path) -> None:
    async def work() -> None:
        async with open_rollouts(config(tmp_path, users={"ann": "code"})) as rollouts:
            await rollouts.take_step("start", by="ann")
            api.set_provider_and_wait(RolloutProvider(rollouts), "ours")
            client = api.get_client("ours")
            ann = EvaluationContext("ann")
            found = await client.get_string_details_async("try-code", "direct", ann)
            assert (found.value, found.reason) == ("code", Reason.TARGETING_MATCH)
            assert await client.get_boolean_value_async("try-code.code", False, ann)
            whole = await client.get_object_value_async("try-code", {}, ann)
            assert whole == {"arm": "code", "mode": "code", "model": None, "prompt": None}
            users = [f"user{number}" for number in range(30)]
            for user in users:  # as the rollout itself would decide
                choice = await rollouts.choose_arm(Asker(identity=Identity(caller=user)))
                assert choice is not None
                assert await client.get_string_value_async("try-code", "", EvaluationContext(user)) == choice.arm
            for flag in ("other", ""):
                assert (await client.get_string_details_async(flag, "safe", ann)).value == "safe"
            told = client.get_string_details("try-code", "safe", ann)
            assert told.value == "safe"
            assert "_async" in (told.error_message or "")

    try:
        asyncio.run(work())
    finally:
        api.clear_providers()


def test_without_the_package_the_flag_is_refused_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def missing(name: str, *rest: object) -> object:
        if name == "gristmill.rollout.feature_flags":
            raise ImportError(name)
        return real(name, *rest)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(builtins, "__import__", missing)

    async def work() -> None:
        async with open_rollouts(config(tmp_path, flag="the-arm")):
            pass

    with pytest.raises(Exception, match=r"gristmill\[openfeature\]"):
        asyncio.run(work())
