"""Every program of the pages for agents is run in the sandbox, with the tools that its page defines, and has the result that stands
below it."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.config.tree import StoreConfig

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PAGES = ("best-practices.md", "common-patterns.md", "results.md")
TOOLS = re.compile(r"^```python\n(# tools\.py\n.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(
    r'^```python\n(# program\.py(?:, session "(\w+)")?\n.*?)^```\n+(?:^```json\n(.*?)^```)?', re.MULTILINE | re.DOTALL
)


class Program(NamedTuple):
    """A program of a page, the session that it names, and the result that stands below it."""

    code: str
    session: str | None
    expected: str


def read_programs(page: str) -> list[Program]:
    found = PROGRAM.findall((GUIDES / page).read_text())
    return [Program(code, f"{Path(page).stem}-{session}" if session else None, expected) for code, session, expected in found]


def load_tools(page: str) -> Mapping[str, Callable[..., Any]]:
    (text,) = TOOLS.findall((GUIDES / page).read_text())
    space: dict[str, Any] = {"__name__": "tools"}
    exec(compile(text, page, "exec"), space)
    return space["TOOLS"]


@pytest.fixture(scope="module")
def results(state: Path) -> Callable[[str], list[Any]]:
    """Runs the programs of a page in their order, since some go on where another ended; each page once, with tools of its own."""

    @cache
    def run(page: str) -> list[Any]:
        config = Config(store=StoreConfig(path=state))
        with BlockingRuntime(config, tools=load_tools(page)) as runtime:
            return [runtime.execute(program.code, session=program.session) for program in read_programs(page)]

    return run


@pytest.mark.parametrize(("page", "number"), [(page, n) for page in PAGES for n in range(len(read_programs(page)))])
def test_a_program_of_the_page_has_the_result_below_it(page: str, number: int, results: Callable[[str], list[Any]]) -> None:
    program = read_programs(page)[number]
    outcome = results(page)[number]
    assert program.expected, f"no result stands below program {number}"
    assert (outcome.status, outcome.result) == ("ok", json.loads(program.expected)), outcome.error


@pytest.mark.parametrize("page", PAGES)
def test_the_page_has_programs_and_no_block_that_only_looks_like_one(page: str) -> None:
    blocks = re.findall(r"^```python\n(.*?)\n", (GUIDES / page).read_text(), re.MULTILINE)
    assert [block for block in blocks if not re.fullmatch(r'# tools\.py|# program\.py(, session "\w+")?', block)] == []
    assert len(read_programs(page)) == len(blocks) - 1 >= 5
