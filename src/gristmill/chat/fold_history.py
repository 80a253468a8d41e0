"""Builds the prompt. Earlier turns have a form that never changes, so that the provider's cache of the beginning stays valid.

A result is shown whole in its own turn and as its handle afterwards. When the earlier turns exceed their limit, the first of them
become a summary until half of the limit is left: so the beginning of the prompt changes rarely, and not with every turn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, message_to_dict, messages_from_dict

from gristmill.chat.chat_events import ChatMode
from gristmill.chat.mode_prompts import BLOCKS_PROMPT, CODE_PROMPT, HYBRID_PROMPT
from gristmill.runtime.values.kept_conversations import ConversationMessage

KEPT_RESULT_CHARACTERS = 400
"""A result up to this size stays as it is."""
FOLDED_RESULT_CHARACTERS = 160
CHARACTERS_PER_TOKEN = 4
MESSAGE_TOKENS = 24
"""What a message takes besides its text: its role, ids, names."""
SUMMARY_CHARACTERS = 4_000
SUMMARY_LINE = 120
OUTCOMES_FOLDER = "outcomes"
_SUMMARY_HEAD = "(The beginning of this conversation, shortened. Files in the working directory are still there.)"


def build_system_prompt(mode: ChatMode, instructions: str) -> SystemMessage | None:
    """Returns the first message of every request; the same for every turn in one mode."""
    prompts = {"code": CODE_PROMPT, "hybrid": HYBRID_PROMPT, "auto": HYBRID_PROMPT, "blocks": BLOCKS_PROMPT, "direct": ""}
    text = "\n\n".join(part for part in (instructions.strip(), prompts.get(mode, CODE_PROMPT)) if part)
    return SystemMessage(text) if text else None


def build_prompt(
    system: SystemMessage | None, history: Sequence[ConversationMessage], turn: Sequence[ConversationMessage], folded_turns: int
) -> list[BaseMessage]:
    """Returns the messages of one request: the prompt of the mode, earlier turns folded, the present turn whole."""
    summarized = [message for message in history if message.turn <= folded_turns]
    earlier = [message.folded or message.body for message in history if message.turn > folded_turns]
    summary = summarize_turns(summarized)
    return [
        *([system] if system is not None else ()),
        *([HumanMessage(summary)] if summary else ()),
        *messages_from_dict([dict(each) for each in (*earlier, *(message.body for message in turn))]),
    ]


def choose_folded_turns(history: Sequence[ConversationMessage], folded_turns: int, most_tokens: int) -> int:
    """Returns how many of the first turns become a summary: as many as before, or more if the others exceed ``most_tokens``."""
    sizes: dict[int, int] = {}
    for message in history:
        if message.turn > folded_turns:
            sizes[message.turn] = sizes.get(message.turn, 0) + estimate_tokens(message.folded or message.body)
    whole = sum(sizes.values())
    if whole <= most_tokens:
        return folded_turns
    for turn, size in sorted(sizes.items()):
        if whole <= most_tokens // 2:
            break
        whole -= size
        folded_turns = turn
    return folded_turns


def estimate_tokens(body: Mapping[str, Any]) -> int:
    """Returns about how many tokens a message takes."""
    said: Mapping[str, Any] = body.get("data", {})
    written = [said.get("content"), *(call.get("args") for call in said.get("tool_calls") or ())]
    return MESSAGE_TOKENS + sum(len(msgspec.json.encode(each)) for each in written) // CHARACTERS_PER_TOKEN


def summarize_turns(messages: Sequence[ConversationMessage]) -> str:
    """Returns what was asked and answered in the first turns, shortened; the newest lines if there are too many."""
    lines: list[str] = []
    turns: dict[int, list[ConversationMessage]] = {}
    for message in messages:
        turns.setdefault(message.turn, []).append(message)
    for turn, said in turns.items():
        asked = next((read_text(each.folded or each.body) for each in said if each.kind == "user"), "")
        answered = next((text for each in reversed(said) if each.kind == "model" and (text := read_text(each.body))), "")
        lines.append(f"{turn}. asked: {shorten_line(asked)}; answered: {shorten_line(answered)}")
    while lines and sum(map(len, lines)) > SUMMARY_CHARACTERS:
        lines.pop(0)
    return "\n".join((_SUMMARY_HEAD, *lines)) if lines else ""


def fold_result(text: str, path: str | None) -> str:
    """Returns the text of a result for later turns: its beginning, and the file that has the whole."""
    if len(text) <= KEPT_RESULT_CHARACTERS:
        return text
    where = f"the whole is in the file {path} of the working directory" if path else "run the program again if it is needed"
    return f"{text[:FOLDED_RESULT_CHARACTERS].rstrip()}...\n(folded: {len(text):,} characters; {where})"


def pack_message(message: BaseMessage) -> dict[str, Any]:
    """Returns a message as JSON, in the form in which it is stored."""
    packed: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(message_to_dict(message), enc_hook=str))
    return packed


def read_text(body: Mapping[str, Any]) -> str:
    """Returns the text of a stored message."""
    (message,) = messages_from_dict([dict(body)])
    return str(message.text)


def unpack_model_message(body: Mapping[str, Any]) -> AIMessage:
    """Returns a stored answer of the model."""
    (message,) = messages_from_dict([dict(body)])
    assert isinstance(message, AIMessage)
    return message


def shorten_line(text: str, most: int = SUMMARY_LINE) -> str:
    """Returns text as one line of at most ``most`` characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."
