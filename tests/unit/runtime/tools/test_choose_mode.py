"""The mode for a question: code where answers are large, calls are many, or nothing is known; direct calls otherwise."""

from gristmill.ledger.tokens.spent_records import SpentCall
from gristmill.runtime.tools.choose_mode import choose_mode

KEY = "crm.find"


def call(execution: str, *, tokens: int = 40, tool: str = KEY, status: str = "ok") -> SpentCall:
    return SpentCall(execution=execution, position=0, tool=tool, server="crm", result_tokens=tokens, status=status)


def test_small_answers_and_few_calls_are_made_directly() -> None:
    chosen = choose_mode([KEY, "crm.send"], {KEY: 90}, [call("one"), call("two"), call("two")])
    assert (chosen.mode, chosen.tools) == ("direct", (KEY,))
    assert chosen.why == "crm.find answered with 40 tokens on average, 1.5 calls at a time: direct calls cost less"


def test_large_answers_are_left_to_a_program() -> None:
    chosen = choose_mode([KEY], {KEY: 90}, [call("one", tokens=4_000)])
    assert (chosen.mode, chosen.tools) == ("code", ())
    assert "crm.find have 4,000 tokens on average" in chosen.why


def test_loops_and_joins_are_left_to_a_program() -> None:
    calls = [call("one") for _ in range(3)] + [call("one", tool="mail.send") for _ in range(3)]
    chosen = choose_mode([KEY], {KEY: 90}, calls)
    assert (chosen.mode, "6 calls each" in chosen.why) == ("code", True)


def test_tools_that_are_not_known_yet_are_left_to_a_program() -> None:
    failed = choose_mode([KEY], {}, [call("one", status="error")])
    assert (failed.mode, "was called before" in failed.why) == ("code", True)
    assert choose_mode([], {}, []).why == "no tool was found for the question"


def test_large_definitions_are_not_put_before_the_model() -> None:
    chosen = choose_mode([KEY], {KEY: 5_000}, [call("one")])
    assert (chosen.mode, "definitions of crm.find" in chosen.why) == ("code", True)
