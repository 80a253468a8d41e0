"""What belongs to one loop, and what several loops cost together."""

from msgspec.structs import replace

from gristmill.ledger.tokens.conversations import split_conversations
from gristmill.ledger.tokens.savings import CountedWork, Savings, compute_savings, explain_savings
from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, SpentSearch, name_conversation
from gristmill.ledger.tokens.token_advice import UsageHistory
from gristmill.runtime.recording.read_stats import compute_stats

DEFINITIONS = {"crm.find": 1_000}


def execution(name: str, at: float, session: str | None = None, caller: str = "ann") -> SpentExecution:
    return SpentExecution(
        execution=name, conversation=name_conversation(conversation=None, session=session, execution=name), at=at, ms=1_000,
        session=session, caller=caller, code_tokens=80, returned_tokens=20, surface_tokens=400, definition_tokens=1_000,
    )  # fmt: skip


def call(name: str, at: float, session: str | None = None, caller: str = "ann") -> SpentCall:
    return SpentCall(
        execution=name, position=0, tool="crm.find", server="crm", at=at, session=session, caller=caller,
        argument_tokens=10, result_tokens=490,
    )  # fmt: skip


def search(at: float, session: str | None = None, caller: str = "ann") -> SpentSearch:
    name = name_conversation(conversation=None, session=session)
    return SpentSearch(at=at, conversation=name, session=session, caller=caller, query="find", query_tokens=5, answer_tokens=95)


def test_executions_without_a_session_are_conversations_of_their_own() -> None:
    work = CountedWork(
        definitions=DEFINITIONS, executions=[execution("a", 1), execution("b", 3)], calls=[call("a", 1), call("b", 3)]
    )
    first, second = split_conversations(work)
    assert ([one.execution for one in first.executions], [one.execution for one in first.calls]) == (["a"], ["a"])
    assert [one.execution for one in second.executions] == ["b"]
    assert compute_savings(*split_conversations(work)).ways.code.resent == 2 * (2 * 400 + 100)


def test_a_session_is_one_conversation() -> None:
    work = CountedWork(
        definitions=DEFINITIONS,
        executions=[execution("a", 1, "s"), replace(execution("b", 3, "s"), surface_tokens=0), execution("c", 4, "t")],
    )
    assert [[one.execution for one in each.executions] for each in split_conversations(work)] == [["a", "b"], ["c"]]
    assert compute_savings(*split_conversations(work)).ways.code.resent == (3 * 400 + 2 * 100 + 100) + (2 * 400 + 100)


def test_a_search_belongs_to_the_execution_that_it_was_made_for() -> None:
    work = CountedWork(
        definitions=DEFINITIONS,
        executions=[execution("a", 1), execution("b", 3), execution("other", 2.5, caller="bob")],
        searches=[search(0.5), search(1.5), search(2.2), search(9), search(3, session="later"), search(1, caller="nobody")],
    )
    found = {each.executions[0].execution if each.executions else None: each for each in split_conversations(work)}
    # The second was made by the code of the first execution, which ended at 2; the last came after all of them.
    assert [one.at for one in found["a"].searches] == [0.5, 1.5]
    assert [one.at for one in found["b"].searches] == [2.2, 9]
    assert found["other"].searches == []
    assert len(split_conversations(work)) == 5


def test_the_account_of_a_tenant_is_the_sum_of_its_conversations() -> None:
    one = UsageHistory(definitions=DEFINITIONS, executions=[execution("a", 1)], calls=[call("a", 1)], searches=[search(0.5)])
    many = UsageHistory(
        definitions=DEFINITIONS,
        executions=[execution(str(number), number * 10) for number in range(100)],
        calls=[call(str(number), number * 10) for number in range(100)],
        searches=[search(number * 10 - 1) for number in range(100)],
    )
    alone, together = compute_stats(one).savings, compute_stats(many).savings
    for way in ("direct", "search", "code"):
        assert getattr(together.ways, way).resent == 100 * getattr(alone.ways, way).resent
    assert together.against_direct.resent_percent == alone.against_direct.resent_percent


def test_nothing_to_compare_with_has_no_percentage() -> None:
    alone = replace(execution("a", 1), definition_tokens=0)
    found: Savings = compute_savings(CountedWork(definitions={}, executions=[alone]))
    assert explain_savings(found).endswith("900 more than direct calls, 900 more than search then call.")
