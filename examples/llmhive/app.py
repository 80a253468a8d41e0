"""A swarm's gateway on one page: own functions as tools, a session per agent, a budget, and the accounts afterwards.

Copy it, replace the two functions by yours. ``python -m examples.llmhive.app`` runs it.
"""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from gristmill import Config, Runtime
from gristmill.ledger.audit.audit_entries import AuditFilter
from gristmill.model import Budget

FINDINGS = [{"agent": n % 7, "topic": f"topic {n % 23}", "score": n * 37 % 100, "text": "lorem " * 20} for n in range(3_000)]


async def list_findings(topic: str | None = None) -> list[dict[str, Any]]:
    """What the agents of the swarm found, optionally about one topic."""
    return [row for row in FINDINGS if topic in (None, row["topic"])]


async def rate_scores(scores: list[int]) -> list[str]:
    """How good scores are: keep or drop for each."""
    return ["keep" if score >= 90 else "drop" for score in scores]


BROWSE = """
import pathlib
from tool_discovery import list_servers, list_tools
import servers.hive
folder = pathlib.Path(servers.hive.__file__).parent      # every tool is a file with its types and its description
files = sorted(p.name for p in folder.glob("*.py"))
[list_servers(), list_tools("hive"), files, (folder / "rate_scores.py").read_text()]
"""
COLLECT = """
from servers import hive
findings = hive.list_findings()                      # 3,000 rows stay in here
verdicts = hive.rate_scores([f["score"] for f in findings])
best = [f for f, verdict in zip(findings, verdicts) if verdict == "keep"]
print(len(findings), "findings,", len(best), "worth keeping")
"""
REPORT = """
from collections import Counter
open("best.csv", "w").write("\\n".join(f"{f['agent']},{f['topic']},{f['score']}" for f in best))
Counter(f["topic"] for f in best).most_common(3)     # `best` is still there: this is the same interpreter
"""


async def main(state: Path) -> dict[str, Any]:
    """One agent's work, and what the application can tell about it afterwards."""
    config = Config.model_validate({"store": {"path": state}, "sandbox": {"warm": 1, "limits": {"seconds": 20, "calls": 200}}})
    tools = {"hive.list_findings": list_findings, "hive.rate_scores": rate_scores}
    async with Runtime.open(config, tools=tools, serving=True) as runtime:
        found = await runtime.search("what did the agents find")
        browsed = await runtime.execute(BROWSE)
        agent = runtime.session("agent-1")
        budget = Budget(output_tokens=100, result_tokens=200)
        collected = await agent.execute(COLLECT, budget=budget)
        reported = await agent.execute(REPORT, budget=budget)
        chatty = await agent.execute("findings", budget=budget)  # far more than the budget lets through
        stranger = await runtime.session("agent-2").execute("best", budget=budget)  # another agent, another interpreter
        refused = await agent.execute("from servers import hive\nhive.delete_everything()")
        stats = await runtime.stats()
        await runtime.audit.flush()
        return {
            "found": [hit.tool.key for hit in found.hits],
            "browsed": browsed.result,
            "collected": collected.output.strip(),
            "reported": reported.result,
            "over_budget": {"cut": chatty.truncated, "rest": [left.path for left in chatty.left_out]},
            "of_another_agent": stranger.error_type,
            "refused": refused.error_type or refused.status,
            "saved": stats.summary,
            "counted": [line for line in runtime.metrics.render().decode().splitlines() if line.startswith("tool_calls_total")],
            "security": [entry.fields() for entry in await runtime.audit.list(AuditFilter(kind="security"))],
            "chain_is_whole": (await runtime.audit.verify()).ok,
        }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="gristmill-llmhive-") as folder:
        Path(folder).chmod(0o755)  # code runs as another user when we are root
        print(json.dumps(asyncio.run(main(Path(folder))), indent=2, default=str))
