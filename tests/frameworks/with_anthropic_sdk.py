"""Anthropic's SDK with the array of ``gristmill export``: ``python with_anthropic_sdk.py SERVICE MODEL TOOLS_FILE``."""

import json
import sys

from anthropic import Anthropic
from inbox import request

service, model_url, file = sys.argv[1:]
with open(file) as exported:
    export = json.load(exported)
client = Anthropic(base_url=model_url.removesuffix("/v1"), api_key="none")


def call_tool(name, arguments):
    """Makes the call through Gristmill, so that rules, masks and records apply."""
    outcome = request(f"{service}/execute", {"code": f"call_tool({export['names'][name]!r}, {arguments!r})"})
    return outcome.get("result", outcome.get("error") or outcome["status"])


messages = [{"role": "user", "content": "What did I spend, by category?"}]
while True:
    answer = client.beta.messages.create(model="scripted", max_tokens=1_000, messages=messages, tools=export["tools"])
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]})
    calls = [block for block in answer.content if block.type == "tool_use"]
    if not calls:
        break
    results = [(call.id, json.dumps(call_tool(call.name, call.input))) for call in calls]
    blocks = [{"type": "tool_result", "tool_use_id": number, "content": text} for number, text in results]
    messages.append({"role": "user", "content": blocks})
print(json.dumps({"answer": answer.content[0].text}))
