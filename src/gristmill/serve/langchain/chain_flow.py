"""The steps of the chain, written once for both drivers: find tools, write code, execute it, mend it, interpret the outcome."""

import re
from collections.abc import Generator, Mapping
from typing import Any, Literal, TypedDict

import msgspec
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from msgspec import Struct

from gristmill.chat.code_backends import CodeRequest, SearchedTools
from gristmill.errors import Error
from gristmill.model import Json, Outcome
from gristmill.runs.texts.outcome_text import render_text

Fallback = Literal["direct", "answer", "raise"]
CODE_BLOCK = re.compile(r"```(?:python|py)\s*\n(.*?)```", re.DOTALL)
WRITE_PROMPT = """Answer the question by one Python program that runs in a sandbox. These tools can be imported:

{tools}

Do loops, joins and filters in the program. Only what it prints and the value of its last expression come back: keep that small.
Values about the user are in `context`. Write the program, and nothing else, in one block that begins with ```python.
If the question needs no tool and no computation, answer it in plain text, without a block."""
MEND_PROMPT = (
    "The program did not succeed:\n\n{text}\n\nWrite the whole program again, corrected, in one block that begins with ```python."
)
INTERPRET_PROMPT = "The program was executed:\n\n{text}\n\nAnswer the question from this, in plain text, without code."
ANSWER_PROMPT = "The program cannot be executed: {why}. Answer as well as you can from what is known, and say what is not known."


class ChainInput(TypedDict, total=False):
    """A question; ``context`` and ``session`` are those of the execution."""

    question: str
    context: Mapping[str, Json]
    session: str


class ChainAttempt(TypedDict):
    """One program and its outcome."""

    code: str
    outcome: dict[str, Any]


class ChainOutput(TypedDict, total=False):
    """The answer, and how it came about."""

    answer: str
    mode: Literal["code", "text", "direct", "answer"]
    """How it was answered: by a program, by the model alone because no program was needed, or by a fallback."""
    fallback: str | None
    """Why no program answered, if a fallback did."""
    tools: list[str]
    attempts: list[ChainAttempt]
    usage: dict[str, dict[str, int]]
    """Tokens by step, as the provider counted them."""
    total_tokens: int
    direct_tokens: int | None
    """What direct calls of the same tools would have cost in input tokens, by our accounts; None where no program answered."""


class Find(Struct, frozen=True):
    """Asks the driver for tools."""

    question: str


class AskModel(Struct, frozen=True):
    """Asks the driver for the model's answer; a ``visible`` one is streamed as the answer of the chain."""

    step: str
    messages: list[BaseMessage]
    visible: bool = False


class RunCode(Struct, frozen=True):
    """Asks the driver to execute a program."""

    request: CodeRequest


class Estimate(Struct, frozen=True):
    """Asks the driver what direct calls would have cost."""

    execution: str


class Tell(Struct, frozen=True):
    """Tells a part of the output."""

    part: dict[str, Any]


Flow = Generator[Find | AskModel | RunCode | Estimate | Tell, Any, None]


def take_chain_steps(given: ChainInput, request: CodeRequest, attempts: int, fallback: Fallback) -> Flow:
    """Yields what the driver shall do and gets the results; errors of the sandbox and the service lead to the fallback.

    Raises:
        Error: the fallback is ``"raise"``, and no program answered.
    """
    question = given.get("question", "")
    messages: list[BaseMessage] = []
    try:
        found: SearchedTools = yield Find(question)
        yield Tell({"tools": list(found.keys)})
        messages += [SystemMessage(WRITE_PROMPT.format(tools=found.text or "(none)")), HumanMessage(question)]
        error: Error = Error("no program was tried")
        for number in range(1, attempts + 1):
            text: str = yield AskModel(f"write {number}", messages)
            block = CODE_BLOCK.search(text)
            if block is None:
                yield Tell({"answer": text, "mode": "text", "fallback": None, "direct_tokens": None})
                return
            outcome: Outcome = yield RunCode(msgspec.structs.replace(request, code=block[1]))
            yield Tell({"attempts": [{"code": block[1], "outcome": msgspec.json.decode(msgspec.json.encode(outcome))}]})
            shown = render_text(outcome)
            if outcome.status in ("ok", "awaiting_approval"):
                yield from _interpret(messages, text, shown, outcome)
                return
            messages += [AIMessage(text), HumanMessage(MEND_PROMPT.format(text=shown))]
            error = Error(
                f"{number} programs did not succeed; the last was {outcome.status}: {(outcome.error or '').strip()[-200:]}"
            )
    except Error as stopped:
        error = stopped
    yield from _fall_back(question, messages, error, fallback)


def _interpret(messages: list[BaseMessage], text: str, shown: str, outcome: Outcome) -> Flow:
    estimated: int | None = yield Estimate(outcome.id)
    yield Tell({"mode": "code", "fallback": None, "direct_tokens": estimated})
    yield AskModel("interpret", [*messages, AIMessage(text), HumanMessage(INTERPRET_PROMPT.format(text=shown))], visible=True)


def _fall_back(question: str, messages: list[BaseMessage], error: Error, fallback: Fallback) -> Flow:
    if fallback == "raise":
        raise error
    why = f"{error.code}: {error.message}"
    yield Tell({"mode": fallback, "fallback": why, "direct_tokens": None})
    known = [*messages] or [HumanMessage(question)]
    asked: list[BaseMessage] = (
        [HumanMessage(question)] if fallback == "direct" else [*known, HumanMessage(ANSWER_PROMPT.format(why=why))]
    )
    yield AskModel(fallback, asked, visible=True)
