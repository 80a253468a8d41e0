"""Answers the questions of ``gristmill rollout compare`` with a chat for each arm. It loads LangChain."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gristmill.chat.chat import Chat
from gristmill.chat.chat_events import ChatMode
from gristmill.config.sections.chat_section import ChatConfig
from gristmill.config.tree import Config, load_config
from gristmill.errors import ConfigError
from gristmill.rollout.compare_tasks import Judge, TaskAnswer, TaskAsked, TaskReport, compare_tasks
from gristmill.runtime.runtime import Runtime
from gristmill.serve.cli.terminal.safe_output import stderr

MODES: tuple[ChatMode, ...] = ("direct", "code", "hybrid", "auto")
LIST_SECONDS = 20.0


async def answer_tasks(
    file: Path | None, tasks: Sequence[TaskAsked], arms: tuple[str, str], model: str | None, base_url: str | None, *, quiet: bool,
    judge: Judge | None = None,
) -> TaskReport:  # fmt: skip
    """Opens a runtime, and asks every question in both arms; each question is a conversation of its own, and is deleted after it.

    Raises:
        ConfigError: there is no such arm, no model, or no tool to offer directly.
    """
    config = load_config(file)
    async with Runtime.open(config) as runtime:
        await runtime.settled(LIST_SECONDS)
        direct = config.chat.direct or tuple(sorted(await runtime.definition_tokens()))
        chats = {arm: _open_chat(config, runtime, arm, model, base_url, direct) for arm in arms}

        async def answer(arm: str, task: TaskAsked) -> TaskAnswer:
            found = await chats[arm].send(task.message, context=task.context)
            await chats[arm].delete(found.conversation)
            usage = found.usage
            return TaskAnswer(
                text=found.text, status=found.status, tokens_in=usage.input_tokens, tokens_out=usage.output_tokens,
                tokens_cached=usage.cached_tokens, dollars=usage.money, programs=len(found.programs),
                problem=found.problem.message if found.problem is not None else None,
            )  # fmt: skip

        def tell(number: int, arm: str) -> None:
            if not quiet:
                stderr().print(f"question {number + 1} of {len(tasks)}: {arm}", style="dim")

        return await compare_tasks(tasks, arms, answer, tell, judge=judge)


def _open_chat(
    config: Config, runtime: Runtime, arm: str, model: str | None, base_url: str | None, direct: Sequence[str]
) -> Chat:
    settings = config.rollout.arms.get(arm)
    mode: Any = settings.mode if settings is not None else arm
    if mode not in MODES:
        raise ConfigError(f"there is no arm {arm!r}: use one of [rollout.arms], or a mode ({', '.join(MODES)})")
    chosen = (settings.model if settings is not None else None) or model
    told = config.chat if settings is None or settings.prompt is None else _replace_prompt(config, settings.prompt)
    return Chat(runtime, chosen, mode=mode, base_url=base_url, direct=direct, config=told)


def _replace_prompt(config: Config, prompt: str) -> ChatConfig:
    return config.chat.model_copy(update={"instructions": prompt})
