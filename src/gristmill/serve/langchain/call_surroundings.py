"""Reads from LangGraph where a tool was called: the conversation, the caller's context, the key of the call, and the streams."""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import msgspec
from langchain_core.messages import AIMessage
from langgraph.prebuilt import ToolRuntime
from msgspec import Struct
from pydantic import BaseModel

from gristmill.chat.code_backends import CodeRequest
from gristmill.model import LOCAL_IDENTITY, Identity, Json

Identify = Callable[[Any], Identity]
"""Says from the agent's context who asks."""
AnyToolRuntime = ToolRuntime[Any, Any]
THREAD = "thread"


class CodeOptions(Struct, frozen=True, kw_only=True):
    """How programs of a toolkit or a middleware are executed."""

    session: str | None = THREAD
    """``"thread"``: one session per conversation; another name: that session; None: every program starts anew."""
    identify: Identify | None = None
    context: Literal["all"] | Sequence[str] = "all"
    """The fields of the agent's context that code may read; those that are not JSON are left out."""
    limits: Mapping[str, Any] | None = None
    budget: int | None = None
    """How many tokens of a result go back to the model."""


def build_request(options: CodeOptions, runtime: AnyToolRuntime | None, **fields: Any) -> CodeRequest:
    """Builds the request of a call; outside of a graph it has no key and no session per conversation."""
    thread = find_thread(runtime)
    given = runtime.context if runtime is not None else None
    session = (name_thread_session(thread) if thread else None) if options.session == THREAD else options.session
    return CodeRequest(
        session=session,
        context=_choose_fields(given, options.context),
        limits=options.limits,
        budget=options.budget,
        identity=options.identify(given) if options.identify is not None else LOCAL_IDENTITY,
        key=_make_key(thread, runtime),
        **fields,
    )


def find_thread(runtime: AnyToolRuntime | None) -> str | None:
    """Returns the id of the conversation; None outside of a graph and without a checkpointer."""
    settings: Mapping[str, Any] = (runtime.config.get("configurable") or {}) if runtime is not None else {}
    found = settings.get("thread_id")
    return None if found is None else str(found)


def can_interrupt(runtime: AnyToolRuntime | None) -> bool:
    """Returns whether the graph can be interrupted here and resumed later: it needs a checkpointer."""
    settings: Mapping[str, Any] = (runtime.config.get("configurable") or {}) if runtime is not None else {}
    return settings.get("__pregel_checkpointer") not in (None, False)


def name_thread_session(thread: str) -> str:
    """Returns the name of the session of a conversation; the id of a thread may hold any characters."""
    return f"thread-{hashlib.sha256(thread.encode()).hexdigest()[:32]}"


def _make_key(thread: str | None, runtime: AnyToolRuntime | None) -> str | None:
    """Returns the key of a call: the same when LangGraph runs the tool again, in any process.

    Some models number their calls anew in each answer, so the answer that holds the call is a part of the key.
    """
    call = runtime.tool_call_id if runtime is not None else None
    if runtime is None or thread is None or call is None:
        return None
    state = runtime.state
    messages: Any = (
        cast("Mapping[str, Any]", state).get("messages", ()) if isinstance(state, Mapping) else getattr(state, "messages", ())
    )
    answers = [message for message in messages if isinstance(message, AIMessage)]
    holder = next((message.id for message in reversed(answers) if any(one["id"] == call for one in message.tool_calls)), None)
    return hashlib.sha256("\0".join(("langgraph", thread, holder or "", call)).encode()).hexdigest()


def _choose_fields(context: Any, wanted: Literal["all"] | Sequence[str]) -> dict[str, Json]:
    fields = _list_fields(context)
    chosen = fields if wanted == "all" else {name: fields[name] for name in wanted if name in fields}
    found: dict[str, Json] = {}
    for name, value in chosen.items():
        try:
            found[name] = msgspec.json.decode(msgspec.json.encode(value))
        except (TypeError, msgspec.MsgspecError):  # a database connection, say: code could not use it
            continue
    return found


def _list_fields(context: Any) -> dict[str, Any]:
    if context is None:
        return {}
    if isinstance(context, BaseModel):
        return context.model_dump()
    if isinstance(context, Mapping):
        return {str(name): value for name, value in cast("Mapping[Any, Any]", context).items()}
    if dataclasses.is_dataclass(context):
        return {one.name: getattr(context, one.name) for one in dataclasses.fields(context)}
    return dict(vars(cast("object", context)))
