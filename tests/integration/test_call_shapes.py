"""Calls in other shapes pass the same layers as imported ones: policy, masks, plans, skills, servers that are not listed yet."""

import sys
from pathlib import Path

from gristmill import BlockingRuntime, Config
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import SandboxConfig, StoreConfig

SERVER = '''
from mcp.server.mcpserver import MCPServer

app = MCPServer("pam")


@app.tool()
def get_expenses(count: int) -> list[int]:
    """Lists expenses."""
    return list(range(count))


app.run()
'''

SHAPES = [
    "pam.add_expense(amount=1)",
    "add_expense(1)",
    "addExpense({'Amount': 1})",
    "mcp__pam__add_expense(amount=1)",
    "tools.pam.addExpense(amount=1)",
    "codemode.add_expense(amount=1)",
    "call_tool('pam', 'add-expense', {'amount': 1})",
    "from client import call_mcp_tool\ncall_mcp_tool('mcp__pam__add_expense', {'amount': 1}, dict)",
]


def add_expense(amount: int) -> dict[str, object]:
    """Adds an expense."""
    return {"amount": amount, "by": "ann@example.org"}


def open_runtime(folder: Path, **policy: object) -> BlockingRuntime:
    config = Config.model_validate({"sandbox": {"warm": 1}, "store": {"path": folder}, "policy": policy})
    return BlockingRuntime(config, tools={"pam.add_expense": add_expense})


def test_the_policy_decides_about_every_shape(state: Path) -> None:
    with open_runtime(state / "denied", deny=["pam.add_*"]) as runtime:
        for shape in SHAPES:
            outcome = runtime.execute(shape)
            assert (outcome.status, outcome.tools_called) == ("failed", ("pam.add_expense",)), (shape, outcome.error)
            assert "policy.deny" in str(outcome.error) or "denied" in str(outcome.error), outcome.error
    with open_runtime(state / "asking", ask=["pam.add_*"]) as runtime:
        for shape in SHAPES:
            outcome = runtime.execute(shape)
            assert outcome.plan is not None, shape
            assert [(call.tool, call.arguments) for call in outcome.plan.calls] == [("pam.add_expense", {"amount": 1})]


def test_results_of_every_shape_are_masked(state: Path) -> None:
    with open_runtime(state / "masked", allow=["*"]) as runtime:
        for shape in SHAPES:
            outcome = runtime.execute(shape)
            assert (outcome.result["amount"], outcome.result["by"][:6]) == (1, "<EMAIL"), (shape, outcome.error)


def test_a_tool_of_a_server_that_is_only_now_listed_needs_no_import(state: Path) -> None:
    folder = state / "unlisted"
    folder.mkdir()
    script = folder / "server.py"
    script.write_text(SERVER)
    pam = ServerConfig(command=sys.executable, args=(str(script),))
    settings = {"store": StoreConfig(path=folder / "state"), "servers": {"pam": pam}, "sandbox": SandboxConfig(warm=1)}
    config = Config.model_validate({**settings, "policy": {"default": "allow"}})
    with BlockingRuntime(config) as runtime:
        outcome = runtime.execute("len(get_expenses(count=3)) + len(pam.getExpenses(4))")
        assert (outcome.status, outcome.result) == ("ok", 7), outcome.error


def test_a_saved_function_takes_the_imports_of_such_names_along(state: Path) -> None:
    save = (
        "def total():\n    'Adds up.'\n    return [pam.add_expense(1)['amount'], tools.addExpense(2)['amount'],"
        " call_tool('add_expense', {'amount': 3})['amount'], addExpense(4)['amount']]\n"
        "from skills import save, source\nsave(total)\nsource('total')"
    )
    with open_runtime(state / "skills", allow=["*"]) as runtime:
        source = str(runtime.execute(save, session="saving").result)
        assert "import servers.pam as pam" in source
        outcome = runtime.execute("from skills import total\ntotal()", session="saving")
        assert outcome.result == [1, 2, 3, 4], outcome.error
