"""How a call is undone: what is read from the configuration, and what is taken from a result that a server chose."""

from typing import Any

import pytest

from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.errors import ConfigError
from gristmill.guard.policy.policy import Policy
from gristmill.guard.policy.undo_calls import CannotUndo, UndoCall

READ: list[tuple[str, dict[str, Any]]] = [
    ("crm.delete(id=result.id)", {"id": 7}),
    (' crm.delete ( id = result.id , why = "it\'s \\"wrong\\"" ) ', {"id": 7, "why": 'it\'s "wrong"'}),
    (
        "crm.delete(id=result.items[1].id, name=arguments.name, hard=true, n=-1.5)",
        {"id": "b", "name": "ann", "hard": True, "n": -1.5},
    ),
    ('crm.delete(id=result["odd key"], gone=null)', {"id": "odd", "gone": None}),
    ("crm.reset()", {}),
]
RESULT = {"id": 7, "items": [{"id": "a"}, {"id": "b"}], "odd key": "odd"}


@pytest.mark.parametrize(("text", "arguments"), READ)
def test_an_undo_takes_its_values_from_the_call(text: str, arguments: dict[str, Any]) -> None:
    assert UndoCall.parse(text).build_arguments(result=RESULT, arguments={"name": "ann"}) == arguments


@pytest.mark.parametrize(
    "text",
    [
        "", "crm.delete", "delete(id=1)", "crm.delete(id)", "crm.delete(result.id)", "crm.delete(id=result.id", "crm.delete(id=__import__)",
        "crm.delete(id=result.id or 1)", "crm.delete(id=result.id) + 1", "crm.delete(id=result.id())", "crm.delete(id=arguments)",
        "crm.delete(id=result[-1])", "crm.delete(id=1, id=2)", "crm.delete(id=f'{1}')", "crm.delete(id=[1])", "crm.delete(,)",
        "crm.delete(id=resultant)", "crm.delete(id=1,)", "crm.delete(id=result" + ".a" * 21 + ")",
    ],
)  # fmt: skip
def test_what_is_no_undo_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ConfigError, match="is expected"):
        UndoCall.parse(text)


HOSTILE: list[Any] = [
    None, "7", [], [7], {}, {"id": None}, {"id": {"$planned": [1]}}, {"id": ["7"]}, {"id": "x" * 1_001}, {"id": ""}, {"id": "\ud800"}, {"id": 2**63},
    {"id": float("nan")}, {"id": float("inf")}, {"ID": 7},
]  # fmt: skip


@pytest.mark.parametrize("result", HOSTILE)
def test_nothing_but_short_values_is_taken_from_a_result(result: Any) -> None:
    with pytest.raises(CannotUndo, match=r"at result\.id"):
        UndoCall.parse("crm.delete(id=result.id)").build_arguments(result=result, arguments={})


def test_a_text_has_no_parts() -> None:
    with pytest.raises(CannotUndo):
        UndoCall.parse("crm.delete(id=result[0])").build_arguments(result="7", arguments={})


def test_a_policy_with_an_undo_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"policy\.revert.*crm\.create"):
        Policy.from_config(PolicyConfig(revert={"crm.create": "crm.delete(id=result.id"}))
    with pytest.raises(ValueError, match="name one tool"):
        PolicyConfig(revert={"crm.*": "crm.delete(id=result.id)"})
    policy = Policy.from_config(PolicyConfig(revert={"crm.create": "crm.delete(id=result.id)"}))
    assert policy.find_undo("crm.delete") is None
    other = Policy.from_config(PolicyConfig())
    other.take_rules(policy)
    assert other.find_undo("crm.create") is not None
