"""One execution per key: what a dead process left is resumed under another key, and that has an end."""

import json

import anyio
import pytest

from gristmill.errors import Interrupted
from gristmill.http_client.decode_answers import decode_error
from gristmill.model import Outcome
from gristmill.runs.keyed_runs import MOST_INTERRUPTIONS, execute_once
from gristmill.serve.problem_codes import describe_problem
from tests.unit.serve.mcp.tools.test_outcome_result import OK


def test_what_was_interrupted_is_resumed_by_its_id_under_a_key_of_its_own() -> None:
    asked: list[tuple[str, str | None]] = []

    async def execute(key: str, resume: str | None) -> Outcome:
        asked.append((key, resume))
        if len(asked) < 3:
            raise Interrupted("begun already", execution=f"run {len(asked)}")
        return OK

    assert anyio.run(execute_once, execute, "key") is OK
    assert asked == [("key", None), ("key/again 1", "run 1"), ("key/again 2", "run 2")]


def test_an_execution_that_is_interrupted_again_and_again_is_given_up() -> None:
    asked: list[str] = []

    async def execute(key: str, _resume: str | None) -> Outcome:
        asked.append(key)
        raise Interrupted("begun already", execution="one")

    with pytest.raises(Interrupted, match="10 times"):
        anyio.run(execute_once, execute, "key")
    assert len(asked) == MOST_INTERRUPTIONS


def test_a_client_learns_which_execution_was_interrupted() -> None:
    body = json.dumps(describe_problem(Interrupted("begun already", execution="one"))).encode()
    found = decode_error(409, body)
    assert isinstance(found, Interrupted)
    assert (found.execution, found.message) == ("one", "begun already")
