"""The calls of a program in TypeScript are checked before it runs."""

import pytest

from gristmill.guard.program.known_tools import KnownServer, KnownTools
from gristmill.guard.program.typescript.check_typescript import check_typescript
from gristmill.model import Tool

SCHEMA = {"type": "object", "properties": {"user_id": {"type": "integer"}, "limit": {"type": "integer"}}, "required": ["user_id"]}
PAM = KnownServer(name="pam", module="pam", tools={"get_expenses": Tool(server="pam", name="get_expenses", input_schema=SCHEMA)})
KNOWN = KnownTools(servers=(PAM,), unlisted=frozenset({"later"}))


@pytest.mark.parametrize(
    "code",
    [
        'import { getExpenses } from "./servers/pam"; await getExpenses({ userId: 1 })',
        "await servers.pam.get_expenses({ user_id: 1, ...rest })",
        "await tools.pam.getExpenses({ user_id: 1 }); codemode.pam.get_expenses({ user_id })",
        'callTool("pam.get_expenses", { "user-id": 1 })',
        "pam.get_expenses({ [name]: 1 })",
        "later.anything({ x: 1 }); other.thing({}); console.log({ a: 1 })",
        "const = broken ((",
    ],
)
def test_a_call_that_fits_is_no_problem(code: str) -> None:
    assert check_typescript(code, KNOWN) == ()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('import { getExpense } from "./servers/pam"', "line 1, column 1: pam has no tool 'getExpense'; write get_expenses"),
        ("\npam.get_expens({})", "line 2, column 1: pam has no tool 'get_expens'; write get_expenses"),
        ("servers.pan.x({})", "line 1, column 1: there is no server 'pan'; write pam"),
        ("pam.get_expenses({ user: 1 })", "line 1, column 20: pam.get_expenses has no argument 'user'; write user_id"),
        ("pam.get_expenses()", "line 1, column 1: pam.get_expenses needs user_id; add user_id"),
        ('callTool("pam.nothing", {})', "line 1, column 10: pam has no tool 'nothing'; it has get_expenses"),
        (
            'import _ from "lodash"',
            "line 1, column 1: there is no module 'lodash'; only tools and modules of the runtime can be imported",
        ),
    ],
)
def test_a_problem_has_its_place_and_its_fix(code: str, expected: str) -> None:
    assert expected in [str(problem) for problem in check_typescript(code, KNOWN)]


def test_all_problems_are_advice() -> None:
    assert not any(problem.certain for problem in check_typescript("servers.pan.x({}); pam.y({})", KNOWN))
