"""The embedding example does what its page says."""

from pathlib import Path

import pytest

from examples.llmhive.app import main


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_an_application_embeds_a_runtime_with_its_own_tools_sessions_budget_and_accounts(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # code runs as another user when we are root
    found = await main(tmp_path)

    assert found["found"][0] == "hive.list_findings"
    assert found["browsed"][0] == [{"name": "hive", "tools": 2}]
    assert [tool["key"] for tool in found["browsed"][1]] == ["hive.list_findings", "hive.rate_scores"]
    assert {"list_findings.py", "rate_scores.py"} <= set(found["browsed"][2])
    assert "def rate_scores(scores: list[int]) -> list[str]:" in found["browsed"][3]
    assert found["collected"] == "3000 findings, 300 worth keeping"
    assert found["reported"] == [["topic 20", 15], ["topic 1", 15], ["topic 5", 15]]
    assert found["over_budget"]["cut"]
    assert len(found["over_budget"]["rest"]) == 1, "what the budget did not let through is a file of the session"
    assert found["of_another_agent"] == "NameError", "sessions do not share variables"
    assert found["refused"] == "refused.code"
    assert [entry["rule"] for entry in found["security"]] == ["refused.code"]
    assert "less than direct calls" in found["saved"]
    assert 'tool_calls_total{outcome="ok",server="hive"} 2.0' in found["counted"]
    assert found["chain_is_whole"]
