"""Programs as models write them, and the whole text of the hint that each of them gets."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.model import Identity
from tests.hint_cases import CASES, POLICY, TOOLS

RUN = [case for case in CASES if "report" not in case and "code" not in case]


@pytest.fixture(scope="module")
def hinted(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    state: Path = tmp_path_factory.mktemp("hints")
    for parent in (state, *state.parents):
        if parent.owner() == state.owner() and parent != Path("/tmp"):
            parent.chmod(0o755)  # code runs as another user when we are root
    config = Config(sandbox=SandboxConfig(warm=2), store=StoreConfig(path=state), policy=PolicyConfig.model_validate(POLICY))
    with BlockingRuntime(config, tools=TOOLS) as opened:
        yield opened


@pytest.mark.parametrize("number", range(len(RUN)), ids=[f"{case['class']}-{place}" for place, case in enumerate(RUN)])
def test_a_program_that_fails_is_told_what_to_change(hinted: BlockingRuntime, number: int) -> None:
    case: dict[str, Any] = RUN[number]
    # Each case is a caller of its own: what one program did must not be remembered for the next.
    options: dict[str, Any] = {"session": case.get("session"), "identity": Identity(caller=f"case{number}")}
    if options["session"]:
        options["session"] += str(number)
    for program in case.get("before", ()):
        hinted.execute(program, **options)

    outcome = hinted.execute(case["program"], **options)

    assert case["hint"] in outcome.advice, (outcome.status, outcome.error, outcome.advice)


def test_a_program_without_fault_gets_no_hint(hinted: BlockingRuntime) -> None:
    outcome = hinted.execute("from servers import pam\nprint(pam.get_trip(trip_id=1)['id'])\nopen('/tmp/x', 'w').write('1')")

    assert (outcome.status, outcome.advice) == ("ok", ())


REPEATED = "from servers import pam\nsum(row['total'] for row in pam.get_expenses(user_id=7))"
GUIDE = """\
this program has failed in the same way 2 times now: it has to be changed before it is sent again
pam.get_expenses(user_id: int, category: str = "all") -> list[dict]
it returned a list of 2 objects {"id": int, "amount": float, "category": str, "at": {"day": str, "place": str}}
example:
from servers.pam import get_expenses
answer = get_expenses(user_id=1)
print(len(answer), [row["id"] for row in answer[:3]])"""


def test_the_same_failure_again_gets_signature_shape_and_example(hinted: BlockingRuntime) -> None:
    who = Identity(caller="repeats")
    first = hinted.execute(REPEATED, identity=who)
    other = hinted.execute(REPEATED, identity=Identity(caller="somebody else"))
    second = hinted.execute(REPEATED.replace("\n", "\n\n"), identity=who)

    assert len(first.advice) == len(other.advice) == 1
    assert second.advice == (*first.advice, GUIDE)


def test_the_example_of_a_repeated_failure_runs(hinted: BlockingRuntime) -> None:
    outcome = hinted.execute(GUIDE.partition("example:\n")[2])

    assert (outcome.status, outcome.output) == ("ok", "2 [1, 2]\n")


def test_another_failure_of_the_same_program_is_no_repetition(hinted: BlockingRuntime) -> None:
    who = Identity(caller="changes")
    program = "open('n', 'a').write('x')\n{}[open('n').read()]"
    first, second = (hinted.execute(program, session="changes", identity=who) for _ in range(2))

    assert (first.error_type, second.error_type) == ("KeyError", "KeyError")
    assert not any("in the same way" in line for line in second.advice)


def test_a_refused_call_that_is_repeated_is_explained_from_the_definition(hinted: BlockingRuntime) -> None:
    program, who = "from servers import pam\npam.get_trip()", Identity(caller="refused")
    hinted.execute(program, identity=who)

    assert hinted.execute(program, identity=who).advice[-1] == (
        "this program has failed in the same way 2 times now: it has to be changed before it is sent again\n"
        "pam.get_trip(trip_id: int) -> dict\n"
        "example:\nfrom servers.pam import get_trip\nanswer = get_trip(trip_id=1)\nprint(answer)"
    )


def test_a_hint_is_masked_like_the_error(hinted: BlockingRuntime) -> None:
    outcome = hinted.execute("from servers import pam\npam.get_trip(trip_id=1)['ann.smith@example.org']")

    assert outcome.advice[0].startswith("there is no key '<EMAIL_")
    assert "ann.smith" not in str(outcome)


@pytest.mark.parametrize("tool", ["read_note", "find_park"])
def test_what_a_tool_answered_is_masked_before_it_is_cut(hinted: BlockingRuntime, tool: str) -> None:
    address = "a-rather-long-name-of-a-person@a-rather-long-name-of-a-firm.example.org"
    outcome = hinted.execute(f"from servers import pam\npam.{tool}(name={address!r})['text']['x']")

    assert "<EMAIL_" in outcome.advice[0]
    assert "a-rather" not in str(outcome.advice)


def test_a_key_of_a_result_is_masked_in_its_shape(hinted: BlockingRuntime) -> None:
    outcome = hinted.execute("from servers import pam\npam.count_by_owner()['nobody']")

    assert "ann.smith" not in str(outcome.advice)
    assert "<EMAIL_" in outcome.advice[0]


def test_a_partial_approval_says_which_calls_were_made(hinted: BlockingRuntime) -> None:
    program = "from servers import shop\nfor item in ('tent', 'stove', 'lamp'):\n    shop.order(item=item)"

    outcome = hinted.execute(program, approve=lambda _plan: (1, 3))

    assert "\n".join(outcome.advice) == (
        "a person refused call 2 (shop.order). Made: shop.order. "
        "Do not send refused calls again; tell the user what was done and what was not"
    )


def test_a_time_limit_names_the_line_at_which_the_program_was(hinted: BlockingRuntime) -> None:
    program = "import asyncio\nasync def wait():\n    await asyncio.sleep(600)\nawait wait()"
    limits = {"seconds": 1.0}
    # On a busy machine a program may be too late with its answer, and is killed without it.
    outcomes = (hinted.execute(program, limits=limits, session=session) for session in (None, "waits", None, "waits", None))
    found = next(outcome for outcome in outcomes if "at line" in str(outcome.error))

    assert found.error == "LimitExceeded: seconds = 1 was exceeded and the run was ended at line 3"
    assert found.advice[0] == (
        "it slept at line 3 (`await asyncio.sleep(600)`): do not wait or poll in a program; end it, and look again with another run"
    )


def test_an_error_of_a_tool_is_raised_and_never_returned_as_data(hinted: BlockingRuntime) -> None:
    program = "from mcp_client import ToolFailed\nfrom servers import pam\ntry:\n    r = pam.get_trip(trip_id=13)\nexcept ToolFailed as e:\n    r = str(e)\nr"

    assert hinted.execute(program).result == "ValueError: trip 13 does not exist"
