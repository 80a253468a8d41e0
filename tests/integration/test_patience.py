"""An execution whose caller has asked enough ends as limited, does nothing, and can be resumed when there is room."""

from pathlib import Path

import pytest

from gristmill.model import Outcome
from tests.integration.test_hall_faults import Bank, all_of, hall

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("T48")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def told(outcome: Outcome) -> tuple[str, str | None, str | None]:
    return outcome.status, outcome.limit, outcome.error_type


async def test_a_flood_of_questions_ends_in_an_outcome_and_not_before_a_person(tmp_path: Path) -> None:
    bank = Bank()
    async with hall(tmp_path, bank, approvals_waiting=2) as runtime:
        asked = [await runtime.execute("1", execution_id=f"e{n}", caller="ann", tenant="a") for n in range(4)]
        assert [one.status for one in asked] == ["awaiting_approval"] * 2 + ["limited"] * 2
        assert told(asked[2]) == ("limited", "policy.approvals_waiting", "LimitExceeded")
        assert "have them decided first" in (asked[2].error or "")
        assert (asked[2].plan, asked[2].result, bank.paid) == (None, None, [])
        assert len(await runtime.approvals.list()) == 2
        other = await runtime.execute("1", caller="bob", tenant="a")
        assert other.status == "awaiting_approval"


async def test_what_could_not_be_asked_is_resumed_once_there_is_room(tmp_path: Path) -> None:
    bank = Bank()
    async with hall(tmp_path, bank, approvals_waiting=1) as runtime:
        first = await runtime.execute("1", execution_id="e1")
        late = await runtime.execute("1", execution_id="e2")
        assert (first.status, late.status) == ("awaiting_approval", "limited")
        assert first.plan is not None
        await runtime.approvals.decide(first.plan.id, "none", by="boss")
        again = await runtime.execute(resume="e2", approve=all_of)
        assert (again.status, bank.paid) == ("ok", [1, 2, 3])


async def test_a_person_who_answers_at_once_is_spared_too(tmp_path: Path) -> None:
    bank, asked = Bank(), 0

    async def count(_plan: object) -> str:
        nonlocal asked
        asked += 1
        return "none"

    async with hall(tmp_path, bank, approvals_per_hour=3) as runtime:
        ended = [await runtime.execute("1", approve=count) for _ in range(5)]  # pyright: ignore[reportArgumentType]
    assert ([one.status for one in ended], asked) == (["failed"] * 3 + ["limited"] * 2, 3)
    assert ended[4].limit == "policy.approvals_per_hour"
