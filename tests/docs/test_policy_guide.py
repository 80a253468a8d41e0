"""Every table of the policy guide is true: each call in it is decided as it says by the configuration above it."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from gristmill.config.sections.policy_section import PolicyConfig, RuleConfig
from gristmill.config.sections.quota_section import QuotaConfig
from gristmill.config.tree import Config, load_config
from gristmill.guard.policy.condition_words import COMPARISONS, FUNCTIONS
from gristmill.guard.policy.policy import Policy
from gristmill.model import Tool, ToolCall

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "policy.md").read_text()
_PART = re.compile(r"^```toml\n(.*?)^```|^\| `([\w.-]+)(\([^\n]*\))`( reads)? \| (\w+) \|$", re.MULTILINE | re.DOTALL)


def rows() -> list[tuple[str, str, dict[str, Any], bool, str]]:
    """Each row of a decision table with the configuration that stands last above it."""
    found: list[tuple[str, str, dict[str, Any], bool, str]] = []
    toml = ""
    for part in _PART.finditer(GUIDE):
        if part[1] is not None:
            toml = part[1]
            continue
        call = ast.parse(f"f{part[3]}", mode="eval").body
        assert isinstance(call, ast.Call)
        arguments = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        found.append((toml, part[2], arguments, bool(part[4]), part[5]))
    return found


@pytest.mark.parametrize(("toml", "tool", "arguments", "reads", "effect"), rows())
def test_a_call_is_decided_as_the_guide_says(
    toml: str, tool: str, arguments: dict[str, Any], reads: bool, effect: str, tmp_path: Path
) -> None:
    file = tmp_path / "gristmill.toml"
    file.write_text(toml)
    server, _, name = tool.partition(".")
    definition = Tool(server=server, name=name, annotations={"readOnlyHint": True} if reads else {})
    policy = Policy.from_config(load_config(file).policy)
    assert policy.decide(ToolCall(id=1, tool=tool, arguments=arguments), definition).effect == effect


def test_the_guide_has_its_tables() -> None:
    assert len(rows()) >= 20


@pytest.mark.parametrize(
    "word", [*PolicyConfig.model_fields, *RuleConfig.model_fields, *QuotaConfig.model_fields, *COMPARISONS, *FUNCTIONS]
)
def test_every_setting_and_every_word_of_a_condition_is_in_the_guide(word: str) -> None:
    assert word in GUIDE


def test_the_whole_configuration_makes_a_policy() -> None:
    assert Policy.from_config(Config().policy).approval_seconds == 3_600
