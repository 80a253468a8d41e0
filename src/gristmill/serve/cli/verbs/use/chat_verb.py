"""``gristmill chat``: talks with a model that writes programs and calls tools."""

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gristmill.config.tree import load_config
from gristmill.errors import ConfigError, Refused
from gristmill.serve.cli.terminal.show_plan import parse_numbers
from gristmill.serve.cli.verb_options import ConfigFile

if TYPE_CHECKING:
    from gristmill.serve.cli.terminal.chat.chat_talk import ChatTalk

PACKAGES = ("langchain", "langchain_core")
Mode = Literal["code", "hybrid", "direct", "auto", "blocks"]


def chat(
    message: Annotated[
        str | None, typer.Argument(help="One message, instead of a conversation; `-` reads it from a pipe.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="The model, such as `anthropic:NAME`, `openai:NAME` or `ollama:NAME`.")
    ] = None,
    mode: Annotated[
        Mode | None,
        typer.Option(
            help="How the model uses tools: programs, single calls, both, a choice for each message, or blocks of code."
        ),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="The address of a service that speaks OpenAI's protocol.")] = None,
    user: Annotated[
        str | None, typer.Option(help="Who asks: conversations belong to this caller, and rules and the audit name it.")
    ] = None,
    context: Annotated[
        list[str] | None, typer.Option(help="A value for programs, as NAME=VALUE; can be repeated. The model does not see it.")
    ] = None,
    conversation: Annotated[str | None, typer.Option(help="Go on with this conversation; `last` is the newest.")] = None,
    approve: Annotated[
        str | None,
        typer.Option(help="Answer the question that the conversation waits for: `all`, `none` or numbers such as 1,3-5."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print each answer as one line of JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Talk with a model that finds your tools, writes programs and runs them in the sandbox.

    Text and programs are shown as they are written; calls that need approval are one question. A pipe works too.
    Example: `echo 'what did I spend on fuel in May?' | gristmill chat -m openai:gpt-5 --json`
    """
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise ConfigError(f"{missing[0]} is not installed: run pip install 'gristmill[chat]'")
    if approve is not None and conversation is None:
        raise Refused("--approve needs --conversation: the one that waits", rule="chat.conversation")
    # It loads LangChain, which is missing without the extra, and which `--help` does not need.
    from gristmill.serve.cli.terminal.chat.converse import answer_once, converse, open_talk

    settings = load_config(config)
    values, approved = _read_context(context or []), _read_approval(approve)
    with open_talk(settings, model, mode=mode, base_url=base_url, user=user, context=values) as talk:
        _choose_conversation(talk, conversation)
        if approve is not None:
            raise typer.Exit(answer_once(talk, lambda show: talk.decide(approved, show), as_json=json))
        text = sys.stdin.read() if message == "-" or (message is None and not sys.stdin.isatty()) else message
        if text is not None:
            if not text.strip():
                raise Refused("there is no message: write it to the pipe", rule="chat.message")
            raise typer.Exit(answer_once(talk, lambda show: talk.send(text.strip(), show), as_json=json))
        converse(talk, settings.state_dir / "chat_history", as_json=json)


def _read_context(pairs: list[str]) -> dict[str, Any]:
    found = [pair.partition("=") for pair in pairs]
    if wrong := [name for name, equals, _ in found if not (name and equals)]:
        raise Refused(f"--context takes NAME=VALUE, not {wrong[0]!r}", rule="chat.context")
    return {name: value for name, _, value in found}


def _read_approval(text: str | None) -> Any:
    if text in (None, "all", "none"):
        return text
    try:
        return parse_numbers(text)
    except ValueError:
        raise Refused("--approve takes `all`, `none` or numbers such as 1,3-5", rule="chat.approve") from None


def _choose_conversation(talk: "ChatTalk", name: str | None) -> None:
    if name == "last":
        found = talk.ask(lambda chat: chat.conversations(user=talk.user, limit=1))
        if not found:
            raise Refused("there is no conversation yet", rule="chat.conversation")
        name = found[0].id
    if name is not None:
        talk.conversation = talk.ask(lambda chat: chat.conversation_of(name, user=talk.user)).id
