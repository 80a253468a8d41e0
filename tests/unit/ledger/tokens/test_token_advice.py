"""What is recommended, and what is not."""

from msgspec.structs import replace

from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, SpentSearch
from gristmill.ledger.tokens.token_advice import (
    Advice,
    UsageHistory,
    find_missed_searches,
    find_tools_to_expose,
    find_unused_servers,
    give_advice,
)

DEFINITIONS = {"crm.get": 50, "crm.find": 70, "mail.send": 900, "mail.read": 100}
EXECUTIONS = [SpentExecution(execution=f"e{n}", session="ann", code_tokens=60, returned_tokens=40) for n in range(6)]
CALLS = [
    SpentCall(
        execution=f"e{n}",
        position=0,
        tool="crm.get",
        server="crm",
        session="ann",
        at=float(n),
        argument_tokens=8,
        result_tokens=30,
    )
    for n in range(6)
]
HISTORY = UsageHistory(executions=EXECUTIONS, calls=CALLS, definitions=DEFINITIONS)


def test_a_tool_called_alone_often_with_small_results_is_worth_exposing() -> None:
    saved = 6 * (60 + 40 - 8 - 30) - 50
    text = (
        "crm.get: called alone in 6 of 6 executions, results of 30 tokens (median); "
        f"offered directly it would have cost {saved} tokens less"
    )
    assert find_tools_to_expose(HISTORY) == (Advice(kind="expose", subject="crm.get", text=text, tokens=saved),)


def test_a_tool_with_large_results_is_not() -> None:
    assert find_tools_to_expose(replace(HISTORY, calls=[replace(call, result_tokens=501) for call in CALLS])) == ()


def test_a_tool_called_seldom_is_not() -> None:
    assert find_tools_to_expose(replace(HISTORY, executions=EXECUTIONS[:4])) == ()


def test_a_tool_that_is_mostly_called_with_others_is_not() -> None:
    joined = [replace(CALLS[0], execution=f"x{n}", position=place) for n in range(7) for place in range(2)]
    assert find_tools_to_expose(replace(HISTORY, calls=[*CALLS, *joined])) == ()


def test_a_tool_whose_definition_costs_more_than_the_code_is_not() -> None:
    assert find_tools_to_expose(replace(HISTORY, definitions={"crm.get": 400})) == ()


def test_a_server_that_was_never_used_is_named_with_its_cost() -> None:
    text = "mail: none of its tools was called; its definitions are 1,000 tokens for a client that loads them"
    assert find_unused_servers(HISTORY) == (Advice(kind="unused_server", subject="mail", text=text, tokens=1_000),)


def test_a_search_missed_when_nothing_it_found_was_called_afterwards() -> None:
    search = SpentSearch(session="ann", at=2.0, query="customer", found=("crm.get", "crm.find"), answer_tokens=200)
    too_late = replace(search, at=9.0)
    another = replace(search, session="bob")
    empty = SpentSearch(session="ann", at=0.0, query="weather")
    assert find_missed_searches(replace(HISTORY, searches=[search])) == ()
    assert find_missed_searches(replace(HISTORY, searches=[search, too_late, another, empty])) == (
        Advice(
            kind="missed_search",
            subject="customer",
            text="search 'customer' found crm.get, crm.find, and none was called (2 times)",
            tokens=400,
        ),
        Advice(kind="missed_search", subject="weather", text="search 'weather' found nothing"),
    )


def test_an_empty_history_gives_no_advice() -> None:
    assert give_advice(UsageHistory(definitions={})) == ()
