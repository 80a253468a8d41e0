"""Takes the steps of a turn: ask the model, answer its calls, ask again, until it answers the user.

What to do next is read from the stored messages alone: so a turn goes on where it stopped, in whichever process.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from msgspec.structs import replace

from gristmill.chat.ask_model import AnyModel, ModelReply, ask_model
from gristmill.chat.chat_events import ChatAnswer, ChatMode, ChatProblem, TurnNoted, UsageCounted
from gristmill.chat.chat_models import price_usage
from gristmill.chat.code_backends import RuntimeBackend
from gristmill.chat.code_blocks import find_marked_program
from gristmill.chat.filled_arguments import hide_filled
from gristmill.chat.fold_history import (
    build_prompt,
    build_system_prompt,
    choose_folded_turns,
    pack_message,
    read_text,
    unpack_model_message,
)
from gristmill.chat.mode_prompts import EXECUTE, EXECUTE_TEXT, SEARCH, SEARCH_TEXT, ExecuteInput, SearchInput
from gristmill.chat.turns.answer_calls import CallAnswerer, WaitingPlan
from gristmill.chat.turns.turn_state import ChatTurn, list_open_calls
from gristmill.config.sections.chat_section import ChatConfig
from gristmill.errors import PromptTooLong
from gristmill.model import Tool
from gristmill.runs.texts.provider_tools import build_input_schema, describe_tool, make_provider_name
from gristmill.runtime.values.kept_conversations import ChatUsage

LOOP, STEPS = "chat.loop", "chat.steps"


async def take_turn(turn: ChatTurn, model: BaseChatModel, backend: RuntimeBackend, config: ChatConfig) -> ChatAnswer:
    """Takes the steps of a turn until it is answered, waits for approval, or is stopped because it leads nowhere.

    Raises:
        ModelFailed: the provider does not answer.
        Error: the messages cannot be stored, or code cannot be run and the configuration wants the turn to fail then.
    """
    in_blocks = turn.mode == "blocks"
    direct = {make_provider_name(key.replace(".", "__", 1)): await backend.describe(key) for key in turn.direct}
    asked = _bind_tools(model, turn.mode, direct, config.fill)
    answerer = CallAnswerer(backend, direct, fill=config.fill, fails_without_code=config.fallback == "fail")
    turn.folded_turns = choose_folded_turns(turn.history, turn.folded_turns, config.history_tokens)
    steps = sum(message.kind == "model" for message in turn.messages)
    while True:
        for call in list_open_calls(turn.messages, in_blocks=in_blocks):
            waiting = await answerer.answer(turn, call)
            if waiting is not None:
                return _await_approval(turn, waiting)
            if turn.failures >= config.failures:
                return _stop_loop(turn)
        if turn.messages and turn.messages[-1].kind == "model":
            return turn.build_answer("answered", read_text(turn.messages[-1].body))
        if steps >= config.steps:
            text = f"stopped after {steps} steps without an answer: ask for less at once, or raise chat.steps"
            return turn.build_answer("stopped", text, problem=ChatProblem(code=STEPS, message=text))
        steps += 1
        reply = await _ask(turn, asked, config, in_blocks=in_blocks)
        _count_usage(turn, reply.usage, config)
        await _add_reply(turn, reply, in_blocks=in_blocks)


async def _ask(turn: ChatTurn, model: AnyModel, config: ChatConfig, *, in_blocks: bool) -> ModelReply:
    """Asks the model; if the prompt is too long, once more with all earlier turns as a summary."""
    ours = config.instructions if turn.prompt is None else turn.prompt
    given = "\n\n".join(part for part in (ours, turn.instructions) if part)
    system, program = build_system_prompt(turn.mode, given), turn.next_program
    for is_last in (False, True):
        messages = build_prompt(system, turn.history, turn.messages, turn.folded_turns)
        try:
            return await ask_model(model, messages, turn.tell, config, program=program, in_blocks=in_blocks)
        except PromptTooLong:
            last = max((message.turn for message in turn.history), default=0)
            if is_last or turn.folded_turns >= last:
                raise
            turn.folded_turns = last
            turn.tell(TurnNoted(text="the conversation did not fit the model's context: earlier turns were shortened"))
    raise AssertionError("the second attempt returns or raises")


async def _add_reply(turn: ChatTurn, reply: ModelReply, *, in_blocks: bool) -> None:
    message = reply.message
    if in_blocks and (program := find_marked_program(str(message.text))) is not None:
        # What a model writes after its program is an invented outcome.
        message = message.model_copy(update={"content": str(message.text)[: program.end]})
    await turn.add("model", pack_message(message))


def _count_usage(turn: ChatTurn, usage: ChatUsage, config: ChatConfig) -> None:
    priced = replace(usage, money=price_usage(usage, turn.model, config))
    turn.usage = turn.usage + priced
    turn.tell(UsageCounted(usage=turn.usage))


def _await_approval(turn: ChatTurn, waiting: WaitingPlan) -> ChatAnswer:
    said = next((message for message in reversed(turn.messages) if message.kind == "model"), None)
    text = str(unpack_model_message(said.body).text) if said is not None else ""
    return turn.build_answer("awaiting_approval", text, approval=waiting.question)


def _stop_loop(turn: ChatTurn) -> ChatAnswer:
    text = (
        f"stopped: the model failed {turn.failures} times in a row in the same way. "
        "Say it in other words, or ask what is missing; the failures are shown above."
    )
    return turn.build_answer("stopped", text, problem=ChatProblem(code=LOOP, message=text))


def _bind_tools(model: BaseChatModel, mode: ChatMode, direct: Mapping[str, Tool], fill: Sequence[str]) -> AnyModel:
    """Returns the model with its tools, always in the same order, and for Anthropic with a mark up to which to cache."""
    offered: list[dict[str, Any]] = []
    if mode not in ("blocks", "direct"):
        offered += [
            _write_definition(SEARCH, SEARCH_TEXT, SearchInput.model_json_schema()),
            _write_definition(EXECUTE, EXECUTE_TEXT, ExecuteInput.model_json_schema()),
        ]
    offered += [
        _write_definition(name, describe_tool(tool, with_output=False), hide_filled(build_input_schema(tool), fill))
        for name, tool in direct.items()
    ]
    options: dict[str, Any] = {"cache_control": {"type": "ephemeral"}} if type(model).__name__ == "ChatAnthropic" else {}
    if not offered or mode == "blocks":
        return model.bind(**options) if options else model
    return model.bind_tools(cast("Sequence[Any]", offered), **options)


def _write_definition(name: str, text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": text, "parameters": dict(schema)}}
