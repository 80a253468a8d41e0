"""OpenAI's SDK (Responses) with the array of ``gristmill export``: ``python with_openai_sdk.py SERVICE MODEL TOOLS_FILE``."""

import json
import sys

from inbox import request
from openai import OpenAI

service, model_url, file = sys.argv[1:]
with open(file) as exported:
    export = json.load(exported)
client = OpenAI(base_url=model_url, api_key="none")


def call_tool(name, arguments):
    """Makes the call through Gristmill, so that rules, masks and records apply."""
    outcome = request(f"{service}/execute", {"code": f"call_tool({export['names'][name]!r}, {arguments!r})"})
    return outcome.get("result", outcome.get("error") or outcome["status"])


conversation = [{"role": "user", "content": "What did I spend, by category?"}]
while True:
    answer = client.responses.create(model="scripted", input=conversation, tools=export["tools"])
    conversation += [item.model_dump(exclude_none=True) for item in answer.output]
    calls = [item for item in answer.output if item.type == "function_call"]
    if not calls:
        break
    for call in calls:
        result = call_tool(f"{call.namespace}.{call.name}", json.loads(call.arguments))
        conversation.append({"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(result)})
print(json.dumps({"answer": answer.output_text}))
