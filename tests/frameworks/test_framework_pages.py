"""The pages of the frameworks show what the tests run: each line of an example is a line of the script."""

import re
from pathlib import Path

import pytest

from tests.servers import CLIENTS, FRAMEWORKS

HERE, GUIDES = Path(__file__).parent, Path(__file__).parents[2] / "docs" / "guides" / "frameworks"
SCRIPTS = {
    "index": ("with_openai_agents", "inbox"),
    "google-adk": ("with_adk",),
    "provider-sdks": ("with_anthropic_sdk", "with_openai_sdk"),
}
PAGES = sorted(page.stem for page in GUIDES.glob("*.md"))
VERSIONS = {
    "pydantic-ai": "2.66",
    "openai-agents": "0.24",
    "agent-framework": "1.23",
    "llamaindex": "0.14",
    "adk": "2.13",
    "crewai": "1.15",
}


@pytest.mark.parametrize("page", PAGES)
def test_an_example_is_what_the_test_runs(page: str) -> None:
    scripts = SCRIPTS.get(page, (f"with_{page.replace('-', '_')}",))
    run = {line.strip() for script in scripts for line in (HERE / f"{script}.py").read_text().splitlines()}
    examples = re.findall(r"^```py\n(.*?)^```", (GUIDES / f"{page}.md").read_text(), re.MULTILINE | re.DOTALL)
    assert examples
    assert [line for example in examples for line in example.splitlines() if line.strip() and line.strip() not in run] == []


def test_the_table_names_the_versions_that_are_installed() -> None:
    text = (GUIDES / "index.md").read_text()
    for name, version in VERSIONS.items():
        wanted = (CLIENTS | FRAMEWORKS)[f"client-{name}"][0]
        assert f"=={version}." in wanted, name
        assert f"]({'google-adk' if name == 'adk' else name}.md) {version} |" in text, name
