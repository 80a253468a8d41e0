"""Which layers a run gets, and with whom it shares what they remember."""

import asyncio
from typing import Any

from gristmill.config.tree import Config
from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.guard.policy.seen_sources import SeenSources
from gristmill.model import Execution
from gristmill.runtime.calls.mask_and_flow_layers import MaskAndFlowLayers
from gristmill.runtime.execution.execution_state import ExecutionState


def _run(root: str = "e", space: str | None = None) -> ExecutionState:
    return ExecutionState(
        execution=Execution(id=root, code=""), root=root, space=space, redactor=Redactor(MaskVault(b"k" * 32), Detector())
    )


class NothingSeen(SeenSources):
    """Sources of sessions that have no past."""

    def __init__(self) -> None:
        pass

    async def list_seen_tools(self, scope: str) -> tuple[str, ...]:
        return ()


def _shields(**sections: Any) -> MaskAndFlowLayers:
    return MaskAndFlowLayers(Config.model_validate(sections), NothingSeen())


def _memory(shields: MaskAndFlowLayers, run: ExecutionState) -> Any:
    return asyncio.run(shields.load_seen(run)).flows


def test_without_rules_and_masks_there_are_no_layers() -> None:
    shields = _shields(mask={"mode": "off"})
    assert (shields.make_mask_layer(_run()), shields.make_flow_layer(_run())) == (None, None)


def test_both_other_modes_mask() -> None:
    assert [_shields(mask={"mode": mode}).make_mask_layer(_run()) is None for mode in ("output", "full")] == [False, False]


def test_runs_of_a_session_share_what_was_seen_and_others_do_not() -> None:
    shields = _shields(flows={"deny": ["crm -> web.*"]})
    assert _memory(shields, _run("a", "s")) is _memory(shields, _run("b", "s"))
    assert _memory(shields, _run("a")) is not _memory(shields, _run("b"))
    assert _memory(shields, _run("a")) is _memory(shields, _run("a")), "a resumed run goes on with what it knew"
