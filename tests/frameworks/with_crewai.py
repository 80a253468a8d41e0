"""CrewAI: ``python with_crewai.py SERVICE MODEL READ WRITE``. It cannot ask in the middle of a call: the plan waits in the inbox.

It starts ``gristmill serve`` itself, once per call: over HTTP its client (1.15.30) replaces each result by an error of its own.
"""

import json
import os
import subprocess
import sys

from crewai import LLM, Agent, Crew, Task
from crewai.mcp import MCPServerStdio

_, model_url, read, write = sys.argv[1:]
model = LLM(model="openai/scripted", base_url=model_url, api_key="none")
variables = {name: value for name, value in os.environ.items() if name.startswith(("GRISTMILL_STORE", "PATH"))}


def ask(question):
    """Lets a crew of one work on one task."""
    # A short command: CrewAI names the tools after it, and cuts the names.
    server = MCPServerStdio(command="gristmill", args=["serve"], env=variables)
    agent = Agent(role="assistant", goal="answer", backstory="travels", llm=model, mcps=[server])
    task = Task(description=question, expected_output="an answer", agent=agent)
    return Crew(agents=[agent], tasks=[task]).kickoff().raw


def approve_waiting_plan():
    """Approves the plan that waits, as its user at the terminal; returns its calls and the execution to resume."""
    listed = subprocess.run(["gristmill", "approvals", "list", "--json"], stdout=subprocess.PIPE, check=True).stdout
    (waiting,) = json.loads(listed)
    subprocess.run(["gristmill", "approvals", "approve", waiting["id"]], stdout=subprocess.DEVNULL, check=True)
    return [call["tool"] for call in waiting["plan"]["calls"]], waiting["execution"]


first, waiting = ask(read), ask(write)
calls, execution = approve_waiting_plan()
done = ask(f"<<<resume {execution}>>>")
print(json.dumps({"answers": [first, done], "waiting": waiting, "calls": calls}))
