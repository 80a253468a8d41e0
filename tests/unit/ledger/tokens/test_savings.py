"""The arithmetic of the three ways, by hand."""

from msgspec.structs import replace

from gristmill.ledger.tokens.count_tokens import CHUNK_CHARACTERS, count_tokens
from gristmill.ledger.tokens.savings import (
    CountedWork,
    Saving,
    Savings,
    WayCost,
    WayCosts,
    compute_saved,
    compute_savings,
    compute_way_cost,
    compute_way_costs,
    explain_savings,
)
from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, SpentSearch
from gristmill.shaping.token_counter import load_token_counter

DEFINITIONS = {"crm.find": 100, "crm.get": 50, "mail.send": 850}


def call(position: int, tool: str, arguments: int, result: int) -> SpentCall:
    return SpentCall(
        execution="e1", position=position, tool=tool, server=tool.split(".")[0], argument_tokens=arguments, result_tokens=result
    )


WORK = CountedWork(
    definitions=DEFINITIONS,
    executions=[SpentExecution(execution="e1", code_tokens=80, returned_tokens=20, definition_tokens=1_000, surface_tokens=400)],
    calls=[call(0, "crm.find", 10, 5_000), call(1, "crm.get", 10, 400)],
    searches=[SpentSearch(query_tokens=5, answer_tokens=195)],
)


def test_a_step_is_sent_again_with_every_later_request() -> None:
    # Requests carry 10, then 10 + 1, then 10 + 1 + 2 tokens.
    assert compute_way_cost(10, [1, 2]) == WayCost(once=13, resent=10 + 11 + 13, requests=3)
    assert compute_way_cost(10, []) == WayCost(once=10, resent=10, requests=1)


def test_the_three_ways_of_the_same_work() -> None:
    assert compute_way_costs(WORK) == WayCosts(
        direct=WayCost(once=1_000 + 5_010 + 410, resent=3 * 1_000 + 2 * 5_010 + 410, requests=3),
        search=WayCost(once=200 + 150 + 5_010 + 410, resent=3 * (200 + 150) + 2 * 5_010 + 410, requests=4),
        code=WayCost(once=400 + 200 + 100, resent=3 * 400 + 2 * 200 + 100, requests=3),
    )


def test_both_savings_are_told() -> None:
    found = compute_savings(WORK)
    assert found.against_direct == Saving(once=5_720, resent=11_730, once_percent=89.1, resent_percent=87.3)
    assert found.against_search == Saving(once=5_070, resent=9_780, once_percent=87.9, resent_percent=85.2)
    assert not found.is_dearer
    assert explain_savings(found) == (
        "Code took 1,700 input tokens (o200k_base, with re-sending; 700 counted once): "
        "11,730 less than direct calls (87.3 %), 9,780 less than search then call (85.2 %)."
    )


def test_the_figure_of_an_answer_is_that_of_the_account() -> None:
    alone = replace(WORK, searches=())
    assert compute_saved(alone.executions[0], alone.calls) == 5_920 == compute_savings(alone).against_direct.once


def test_an_execution_that_did_not_succeed_only_costs() -> None:
    for status in ("failed", "refused", "limited", "crashed", "awaiting_approval"):
        ended = SpentExecution(execution="e1", status=status, code_tokens=80, returned_tokens=20, surface_tokens=400)
        assert compute_saved(ended, WORK.calls) == -500
        assert compute_savings(replace(WORK, executions=[ended], searches=())).against_direct.once == -500


def test_one_small_call_is_dearer_by_code_and_said_to_be() -> None:
    work = CountedWork(
        definitions={"crm.get": 50},
        executions=[SpentExecution(execution="e1", code_tokens=40, returned_tokens=30, definition_tokens=50, surface_tokens=400)],
        calls=[call(0, "crm.get", 10, 20)],
    )
    found: Savings = compute_savings(work)
    assert found.is_dearer
    assert found.against_direct.resent == (2 * 50 + 30) - (2 * 400 + 70)
    assert "740 more than direct calls (dearer by 569.2 %)" in explain_savings(found)


def test_a_search_that_code_made_costs_the_model_nothing() -> None:
    work = CountedWork(definitions=DEFINITIONS, searches=[SpentSearch(query_tokens=5, answer_tokens=195, in_code=True)])
    assert compute_way_costs(work).code == compute_way_cost(0, [])
    assert compute_way_costs(work).search == compute_way_cost(0, [200])


def test_a_tool_that_is_gone_makes_no_way_dearer() -> None:
    work = CountedWork(definitions={}, executions=[SpentExecution(execution="e1")], calls=[call(0, "old.tool", 1, 1)])
    assert (compute_way_costs(work).direct.once, compute_way_costs(work).search.once) == (2, 2)


def test_nothing_done_is_no_saving() -> None:
    assert compute_savings(CountedWork(definitions={})).against_direct == Saving(
        once=0, resent=0, once_percent=0.0, resent_percent=0.0
    )


def test_a_large_text_is_counted_whole_in_chunks() -> None:
    count = load_token_counter() or len
    text = "the price of 12 apples\n" * 200_000
    chunks: list[int] = []

    def count_chunk(chunk: str) -> int:
        chunks.append(len(chunk))
        return count(chunk)

    assert count_tokens(text, count_chunk) == count(text)
    assert (len(chunks), sum(chunks)) == (-(-len(text) // CHUNK_CHARACTERS), len(text))
    assert count_tokens("", count) == 0
    assert count_tokens("x" * (CHUNK_CHARACTERS + 1), len) == CHUNK_CHARACTERS + 1
