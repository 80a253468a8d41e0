"""Rules that a person makes while approving: for one tool as it is defined, one caller, and one session or all."""

from dataclasses import replace

import pytest

from gristmill.errors import Busy, NotFound, Refused
from gristmill.guard.policy import standing_rules
from gristmill.guard.policy.approvals import Approval, Approvals, offer_rules
from gristmill.model import Identity, PlannedCall

pytestmark = pytest.mark.anyio

ANN = Identity(caller="ann", tenant="acme")
CALL = PlannedCall(number=1, tool="files.write", arguments={}, rule="default", hash="h1", definition="d1")
OTHER = replace(CALL, number=2, tool="mail.send", hash="h2", definition="d2")


async def decided(approvals: Approvals, approve: object = "all", *, space: str | None = "s@1") -> Approval:
    plan = await approvals.submit_plan(
        [CALL, OTHER], root="e1", execution="e1", session="s" if space else None, identity=ANN, seconds=60, space=space
    )
    return await approvals.decide(plan.id, approve, by="bob")  # pyright: ignore[reportArgumentType]


async def covered(
    approvals: Approvals, tool: str = "files.write", definition: str = "d1", space: str | None = "s@1", who: Identity = ANN
) -> bool:
    return await approvals.rules.covers(who, space, tool, definition) is not None


async def test_a_rule_for_a_session_holds_there_for_that_caller_and_that_definition_alone(approvals: Approvals) -> None:
    (rule, _) = await approvals.allow_always(await decided(approvals), "session", by="bob")
    assert await covered(approvals)
    for fields in (
        {"tool": "files.delete"}, {"definition": "changed"}, {"definition": ""}, {"space": "s@2"}, {"space": None},
        {"who": Identity(caller="eve", tenant="acme")}, {"who": Identity(caller="ann", tenant="other")},
    ):  # fmt: skip
        assert not await covered(approvals, **fields), fields  # pyright: ignore[reportArgumentType]
    assert rule.text == "always allow files.write for ann in the session s, as long as its definition stays the same"
    await approvals.rules.revoke(rule.id, by="bob", tenant="acme")
    assert not await covered(approvals)


async def test_a_rule_for_a_caller_holds_in_every_session(approvals: Approvals) -> None:
    made = await approvals.allow_always(await decided(approvals), "caller", by="bob", tools=["mail.send"])
    assert [rule.tool for rule in made] == ["mail.send"]
    for space in ("s@1", "another", None):
        assert await covered(approvals, "mail.send", "d2", space)
    assert not await covered(approvals)


async def test_only_what_was_approved_can_be_always_allowed(approvals: Approvals) -> None:
    denied = await decided(approvals, "none")
    for tools in (None, ["files.write"]):
        with pytest.raises(Refused):
            await approvals.allow_always(denied, "caller", by="bob", tools=tools)
    part = await decided(approvals, [1])
    with pytest.raises(Refused, match=r"mail\.send"):
        await approvals.allow_always(part, "caller", by="bob", tools=["files.write", "mail.send"])
    assert [rule.tool for rule in await approvals.allow_always(part, "caller", by="bob")] == ["files.write"]
    assert await approvals.allow_always(part, "caller", by="bob") == (), "the same rule is made once"
    alone = await decided(approvals, space=None)
    assert offer_rules(alone, "session") == ()
    with pytest.raises(Refused, match="no session"):
        await approvals.allow_always(alone, "session", by="bob")


async def test_rules_are_listed_and_revoked_in_their_tenant_and_are_limited(
    approvals: Approvals, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rule, _) = await approvals.allow_always(await decided(approvals), "caller", by="bob")
    assert await approvals.rules.list(tenant="other") == ()
    assert await approvals.rules.list(owner=Identity(caller="eve", tenant="acme")) == ()
    with pytest.raises(NotFound):
        await approvals.rules.revoke(rule.id, by="eve", tenant="other")
    assert len(await approvals.rules.list(tenant="acme")) == 2
    monkeypatch.setattr(standing_rules, "MOST_RULES", 2)
    with pytest.raises(Busy):
        await approvals.allow_always(await decided(approvals), "session", by="bob")
