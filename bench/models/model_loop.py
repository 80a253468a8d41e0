"""The loop of one task: the model writes, its calls are answered, until it gives an answer or has no requests left."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.models.endpoint import Endpoint, EndpointFailed, Message, Reply, Wanted
from bench.models.judge import MARK, find_answer, name_failure
from bench.models.model_tasks import ModelTask
from bench.models.toolboxes import Arm, Opened, Said, Toolbox

REMIND = f"Call a tool, or write the answer in one line that begins with {MARK}"
CALL_FIRST = "You have called no tool yet, so you cannot know it. Call a tool."
LONGEST_RESULT = 400_000
"""Most characters of a tool's answer that are sent on; a client would cut far earlier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """How many requests a task may take, and how many reminders."""

    requests: int = 8
    reminders: int = 1


class TaskRun:
    """One task in one way, request by request."""

    def __init__(self, endpoint: Endpoint, opened: Opened, system: str, task: ModelTask, progress: Callable[[str], None]) -> None:
        self._endpoint, self._opened, self._progress = endpoint, opened, progress
        self.messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": task.question}]
        self.replies: list[Reply] = []
        self.steps: list[dict[str, Any]] = []
        self.answer: str | None = None
        self.stopped: str | None = None
        self.why = ""

    async def go(self, allowed: Allowed) -> None:
        """Runs the loop to its end."""
        reminders = allowed.reminders
        for _ in range(allowed.requests):
            try:
                definitions = self._opened.list_definitions()
                reply = await self._endpoint.complete(self.messages, definitions, takes_code=self._opened.arm == "code")
            except EndpointFailed as error:
                self.stopped, self.why = error.kind, str(error)
                return
            self.replies.append(reply)
            self.messages.append(reply.message)
            self._progress(f"request {len(self.replies)}: {reply.tokens_in} in, {reply.tokens_out} out, {reply.seconds:.0f} s")
            # A model that writes a call and an answer at once has not seen what the call answers.
            if reply.calls:
                await self._answer_calls(reply)
                continue
            self.answer = find_answer(reply.text)
            if (self.answer is not None and self.steps) or not reminders:
                return
            reminders -= 1
            self.messages.append({"role": "user", "content": REMIND if self.steps else CALL_FIRST})

    async def _answer_calls(self, reply: Reply) -> None:
        texts: list[str] = []
        for call in reply.calls:
            said = await self._answer(call)
            self.steps.append(
                {"name": call.name, "arguments": dict(call.arguments), "is_text": call.is_text, "is_error": said.is_error,
                 "said": said.text}
            )  # fmt: skip
            if call.is_text:
                texts.append(said.text[:LONGEST_RESULT])
            else:
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": said.text[:LONGEST_RESULT]})
        if texts:  # the endpoint saw no call, so its protocol has no place for an answer
            self.messages.append({"role": "user", "content": "The tool answered:\n" + "\n\n".join(texts)})

    async def _answer(self, call: Wanted) -> Said:
        if call.broken:
            return Said(text=f"the arguments are no JSON object: {call.broken[:200]}", is_error=True)
        return await self._opened.call(call.name, call.arguments)


async def run_task(
    endpoint: Endpoint, box: Toolbox, arm: Arm, task: ModelTask, allowed: Allowed, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Runs one task in one way; returns everything that is known about it."""
    box.begin(task.id)
    run = TaskRun(endpoint, box.open(arm, task.context), box.write_system(arm), task, progress)
    began = time.monotonic()
    await run.go(allowed)
    is_right = task.is_right(f"{MARK} {run.answer}" if run.answer is not None else "", box.read_calls())
    return {
        "task": task.id,
        "place": task.place,
        "arm": arm,
        "is_right": is_right,
        "failure": None if is_right else name_failure(run.steps, run.answer, run.stopped),
        "why": run.why,
        "attempts": sum(step["name"] != "search_tools" for step in run.steps),
        "failed_attempts": sum(step["is_error"] for step in run.steps if step["name"] != "search_tools"),
        "searches": sum(step["name"] == "search_tools" for step in run.steps),
        "calls_as_text": sum(step["is_text"] for step in run.steps),
        "requests": len(run.replies),
        "tokens_in": sum(reply.tokens_in for reply in run.replies),
        "tokens_cached": sum(reply.tokens_cached for reply in run.replies),
        "tokens_out": sum(reply.tokens_out for reply in run.replies),
        "model_seconds": round(sum(reply.seconds for reply in run.replies), 1),
        "seconds": round(time.monotonic() - began, 1),
        "answer": run.answer,
        "truth": task.truth,
        "steps": run.steps,
        "messages": run.messages,
    }
