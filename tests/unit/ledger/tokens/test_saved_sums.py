"""One formula: what executions and searches saved adds up to the number of their conversation and of their tenant."""

from collections.abc import Iterator
from itertools import count

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from gristmill.ledger.tokens.claimed_conversations import MOST_CONVERSATIONS, ClaimedConversations
from gristmill.ledger.tokens.conversations import split_conversations
from gristmill.ledger.tokens.savings import CountedWork, compute_saved, compute_savings, compute_search_saved
from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, SpentSearch, name_conversation
from gristmill.ledger.tokens.token_advice import UsageHistory
from gristmill.ledger.tokens.token_costs import compute_costs
from gristmill.model import Status
from gristmill.runtime.recording.read_stats import compute_stats

SURFACE = 400
tokens = st.integers(0, 100_000)
sessions = st.sampled_from([None, "a", "b"])
statuses: st.SearchStrategy[Status] = st.sampled_from(["ok", "failed", "refused", "limited", "crashed", "awaiting_approval"])


class Run(Struct, frozen=True, kw_only=True):
    """One execution as it is drawn: what it is about, and the sizes of its calls."""

    session: str | None
    status: Status
    code: int
    returned: int
    calls: tuple[tuple[int, int], ...]


runs = st.lists(
    st.builds(
        Run, session=sessions, status=statuses, code=tokens, returned=tokens, calls=st.lists(st.tuples(tokens, tokens)).map(tuple)
    ),
    max_size=12,
)
searches = st.lists(st.tuples(sessions, tokens, tokens, st.booleans()), max_size=6)
definitions = st.dictionaries(st.sampled_from(["crm.find", "crm.get", "mail.send"]), tokens, max_size=3)


def count_work(drawn: list[Run], looked: list[tuple[str | None, int, int, bool]], defined: dict[str, int]) -> CountedWork:
    """The work as the accounts count it, one execution after another."""
    claims, numbers = ClaimedConversations(), count()
    executions: list[SpentExecution] = []
    calls: list[SpentCall] = []
    for run in drawn:
        name = f"e{next(numbers)}"
        record = SpentExecution(
            execution=name, session=run.session, status=run.status, code_tokens=run.code, returned_tokens=run.returned,
            conversation=name_conversation(conversation=None, session=run.session, execution=name), at=float(len(executions)),
        )  # fmt: skip
        executions.append(
            claims.claim("acme", record, has_calls=bool(run.calls), definitions=sum(defined.values()), surface=SURFACE)
        )
        calls += [
            SpentCall(execution=name, position=at, tool="crm.find", server="crm", argument_tokens=sent, result_tokens=got)
            for at, (sent, got) in enumerate(run.calls)
        ]
    made = [
        SpentSearch(
            session=session, conversation=name_conversation(conversation=None, session=session), query_tokens=asked,
            answer_tokens=answered, in_code=in_code,
        )
        for session, asked, answered, in_code in looked
    ]  # fmt: skip
    return CountedWork(definitions=defined, executions=executions, calls=calls, searches=made)


def list_saved(work: CountedWork) -> Iterator[int]:
    """What each execution and each search reports by itself."""
    for execution in work.executions:
        yield compute_saved(execution, [call for call in work.calls if call.execution == execution.execution])
    yield from map(compute_search_saved, work.searches)


@given(runs, searches, definitions)
def test_the_parts_add_up_to_every_conversation_and_to_the_tenant(
    drawn: list[Run], looked: list[tuple[str | None, int, int, bool]], defined: dict[str, int]
) -> None:
    work = count_work(drawn, looked, defined)
    conversations = split_conversations(work)
    for each in conversations:
        assert sum(list_saved(each)) == compute_savings(each).against_direct.once
    history = UsageHistory(definitions=defined, executions=work.executions, calls=work.calls, searches=work.searches)
    assert sum(list_saved(work)) == sum(sum(list_saved(each)) for each in conversations) == compute_stats(history).tokens_saved


@given(runs, definitions)
def test_only_what_succeeded_saves(drawn: list[Run], defined: dict[str, int]) -> None:
    work = count_work([replace(run, status="failed" if run.status == "ok" else run.status) for run in drawn], [], defined)
    assert all(saved <= 0 for saved in list_saved(work))
    assert compute_savings(*split_conversations(work)).ways.direct.once == 0


@given(runs, definitions)
def test_a_conversation_claims_the_definitions_and_our_own_tools_once(drawn: list[Run], defined: dict[str, int]) -> None:
    for each in split_conversations(count_work(drawn, [], defined)):
        claimed = [execution.definition_tokens for execution in each.executions if execution.definition_tokens]
        called = {call.execution for call in each.calls}
        has_worth = any(execution.is_worth and execution.execution in called for execution in each.executions)
        assert claimed == ([sum(defined.values())] if has_worth and sum(defined.values()) else [])
        assert [execution.surface_tokens for execution in each.executions] == [SURFACE] + [0] * (len(each.executions) - 1)


def test_a_process_goes_on_with_the_claims_of_the_one_before() -> None:
    claims = ClaimedConversations()
    claims.remember("acme", "session a", has_definitions=True)
    claims.remember("acme", "session b", has_definitions=False)
    known = [claims.knows("acme", name) for name in ("session a", "session c", "execution e")]
    assert (known, claims.knows("other", "session a")) == ([True, False, True], False)

    def claim(tenant: str, conversation: str) -> tuple[int, int]:
        made = claims.claim(
            tenant, SpentExecution(execution="e", conversation=conversation), has_calls=True, definitions=9, surface=4
        )
        return made.definition_tokens, made.surface_tokens

    assert claim("acme", "session a") == (0, 0)
    assert (claim("acme", "session b"), claim("acme", "session b")) == ((9, 0), (0, 0))
    assert claim("other", "session a") == (9, 4)


def test_conversations_that_are_remembered_have_a_limit() -> None:
    claims = ClaimedConversations()
    for number in range(MOST_CONVERSATIONS + 1):
        claims.claim(
            "acme", SpentExecution(execution="e", conversation=f"session {number}"), has_calls=True, definitions=9, surface=4
        )

    def claim(number: int) -> int:
        made = SpentExecution(execution="e", conversation=f"session {number}")
        return claims.claim("acme", made, has_calls=True, definitions=9, surface=4).definition_tokens

    assert (claim(MOST_CONVERSATIONS), claim(0)) == (0, 9)


def test_money_is_counted_with_and_without_prompt_caching() -> None:
    work = count_work(
        [Run(session=None, status="ok", code=80, returned=20, calls=((10, 5_000), (10, 400)))], [], {"crm.find": 1_000}
    )
    found = compute_savings(work)
    costs = compute_costs(found.ways, price=3.0)
    # Requests carry 1,000, then 5,010 more, then 410 more; and 400, then 100 more.
    assert (found.ways.direct.once, found.ways.direct.resent) == (6_420, 1_000 + 6_010 + 6_420)
    assert (found.ways.code.once, found.ways.code.resent) == (500, 400 + 500)
    assert costs.plain.direct == round(13_430 * 3 / 1e6, 6)
    assert costs.cached.direct == round((1.25 * 6_420 + 0.1 * 7_010) * 3 / 1e6, 6)
    assert costs.cached.code == round((1.25 * 500 + 0.1 * 400) * 3 / 1e6, 6)
    assert costs.plain.saved == round(costs.plain.direct - costs.plain.code, 6)
    assert compute_costs(found.ways, price=0.0).cached.saved == 0.0
