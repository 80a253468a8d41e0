"""What outcomes, accounts and the metric say that was saved is one number, whatever was executed."""

from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.shaping.token_counter import load_token_counter

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(load_token_counter() is None, reason="there is no tokenizer for this Python"),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def rows(count: int) -> list[dict[str, str]]:
    """Many rows."""
    return [{"name": f"row {number}", "note": "x y z " * 10} for number in range(count)]


def explain(text: str) -> str:
    """A tool whose definition is long, so that having it in a context costs more than our own tools do."""
    return text


explain.__doc__ = "Explains a word. " * 300


def read_metric(runtime: Runtime) -> int:
    lines = runtime.metrics.render().decode().splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith("code_execution_token_savings "))))


def open_runtime(home: Path) -> Any:
    config = {"sandbox": SandboxConfig(warm=0), "store": StoreConfig(path=home), "policy": {"allow": ["*"]}}
    return Runtime.open(Config.model_validate(config), tools={"crm.rows": rows, "words.explain": explain}, serving=True)


async def test_outcomes_accounts_and_the_metric_say_one_number(state: Path) -> None:
    many, fails, refused = (
        "from servers import crm\nlen(crm.rows(count=2000))",
        "from servers import crm\ncrm.rows(count=50)[99]",
        "from servers import crm\ncrm.rosw(count=1)",
    )
    home = state / "one-number"
    home.mkdir()
    async with open_runtime(home) as runtime:
        await runtime.search("rows")
        searched = (await runtime.stats()).tokens_saved
        await runtime.search("rows", for_person=True)
        made = [
            await runtime.execute(code, session=session)
            for code, session in ((many, "a"), (many, "a"), (fails, "a"), (refused, None), (many, None), ("1", "b"))
        ]
        whole = await runtime.stats()
        filled = [await runtime.fill_tokens_saved(outcome) for outcome in made]
        saved = [outcome.tokens_saved or 0 for outcome in filled]
        of_session = await runtime.stats(session="a")

        assert [outcome.status for outcome in made] == ["ok", "ok", "failed", "refused", "ok", "ok"]
        assert searched < 0
        assert whole.searches == 1
        assert whole.tokens_saved == sum(saved) + searched == read_metric(runtime)
        assert of_session.tokens_saved == sum(saved[:3])
        assert saved[0] > saved[1] > 10_000, "a large result has a number, and the definitions are claimed once"
        assert max(saved[2], saved[3], saved[5]) < 0
        assert saved[4] == saved[0], "an execution without a session is a conversation of its own"
        assert (whole.conversations, whole.costs.plain.saved > 0) == (4, True)
        # Large results are counted after the answer, so that it does not wait for that.
        assert made[1].tokens_saved is None
        assert made[3].tokens_saved is not None
    async with open_runtime(home) as runtime:
        again = await runtime.fill_tokens_saved(await runtime.execute(many, session="a"))
        assert (await runtime.stats()).tokens_saved == whole.tokens_saved + saved[1]
        again = await runtime.fill_tokens_saved(again)
        assert again.tokens_saved == saved[1] == read_metric(runtime), "a session that goes on claims nothing again"


async def test_a_named_conversation_has_its_own_account(state: Path) -> None:
    home = state / "named-conversation"
    home.mkdir()
    code = "from servers import crm\nlen(crm.rows(count=20))"
    async with open_runtime(home) as runtime:
        await runtime.search("rows", conversation="chat 7")
        first, second = [await runtime.execute(code, conversation="chat 7") for _ in range(2)]
        await runtime.execute(code)
        account = await runtime.stats(conversation="chat 7")
        saved = [(await runtime.fill_tokens_saved(outcome)).tokens_saved or 0 for outcome in (first, second)]

        assert (account.conversations, account.executions, account.calls, account.searches) == (1, 2, 2, 1)
        assert saved[0] > saved[1]
        assert account.tokens_saved < sum(saved), "the search cost something"
        assert (await runtime.stats(conversation="another")).executions == 0
