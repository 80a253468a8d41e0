"""The loop of one task: the model writes, its calls are answered, until it gives an answer or has no requests left."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.models.endpoint import Endpoint, EndpointFailed, Message, Reply, Wanted
from bench.models.judge import MARK, find_answer, name_failure
from bench.models.model_tasks import ModelTask
from bench.models.toolboxes import Arm, Opened, Protocol, Said, Toolbox

ASK = "Write your answer once more, as one line of JSON in this form: {mark} {form}"
CALL_FIRST = "You have called no tool yet, so you cannot know it. Call a tool."
LONGEST_RESULT = 400_000
"""Most characters of a tool's answer that are sent on; a client would cut far earlier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """How many requests a task may take, how many reminders, how tools are called, and who makes the first search."""

    requests: int = 8
    reminders: int = 1
    protocol: Protocol = "tools"
    search_first: bool = False


class TaskRun:
    """One task in one way, request by request."""

    def __init__(
        self, endpoint: Endpoint, opened: Opened, system: str, task: ModelTask, allowed: Allowed, progress: Callable[[str], None]
    ) -> None:
        self._endpoint, self.opened, self._allowed, self._progress = endpoint, opened, allowed, progress
        self.messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": task.question}]
        self._form = task.form
        self.replies: list[Reply] = []
        self.steps: list[dict[str, Any]] = []
        self.answer: str | None = None
        self.stopped: str | None = None
        self.why = ""

    async def go(self) -> None:
        """Runs the loop to its end: the work, and then the answer in the form that can be compared."""
        reminders = self._allowed.reminders
        try:
            for _ in range(self._allowed.requests):
                reply = await self._ask()
                # A model that writes a call and an answer at once has not seen what the call answers.
                if reply.calls:
                    await self._answer_calls(reply)
                    continue
                if self.steps or not reminders:
                    await self._ask_for_form()
                    return
                reminders -= 1
                self.messages.append({"role": "user", "content": CALL_FIRST})
        except EndpointFailed as error:
            self.stopped, self.why = error.kind, str(error)

    async def _ask_for_form(self) -> None:
        self.messages.append({"role": "user", "content": ASK.format(mark=MARK, form=self._form)})
        text = (await self._ask()).text
        self.answer = find_answer(text) or text.strip()

    async def _ask(self) -> Reply:
        reply = await self._endpoint.complete(
            self.messages,
            self.opened.list_definitions(),
            in_text=self._allowed.protocol == "text",
            takes_code=self.opened.arm == "code",
        )
        self.replies.append(reply)
        self.messages.append(reply.message)
        self._progress(f"request {len(self.replies)}: {reply.tokens_in} in, {reply.tokens_out} out, {reply.seconds:.0f} s")
        return reply

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
        return await self.opened.call(call.name, call.arguments)


async def run_task(
    endpoint: Endpoint, box: Toolbox, arm: Arm, task: ModelTask, allowed: Allowed, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Runs one task in one way; returns everything that is known about it."""
    box.begin(task.id)
    system = box.write_system(arm, allowed.protocol)
    run = TaskRun(endpoint, box.open(arm, task.context), system, task, allowed, progress)
    began = time.monotonic()
    if allowed.search_first:
        run.messages[1]["content"] += await run.opened.search_first(task.question)
    await run.go()
    is_right = task.is_right(run.answer, box.read_calls())
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
