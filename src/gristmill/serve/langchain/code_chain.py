"""The chain: a question becomes a program, its outcome an answer; without a sandbox the model answers alone, and that is said."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun, UsageMetadataCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langchain_core.runnables.utils import AddableDict
from msgspec.structs import replace

from gristmill.chat.code_backends import CodeRequest
from gristmill.errors import ConfigError, Error
from gristmill.model import LOCAL_IDENTITY, Identity
from gristmill.serve.langchain.chain_flow import (
    AskModel,
    ChainInput,
    ChainOutput,
    Estimate,
    Fallback,
    Find,
    Flow,
    RunCode,
    Tell,
    take_chain_steps,
)
from gristmill.serve.langchain.loop_bridge import Send, Work
from gristmill.serve.langchain.open_source import GivenSource, open_source

MOST_ATTEMPTS = 10
SEARCH_LIMIT = 8


class MCPCodeExecutionChain(Runnable[ChainInput | str, ChainOutput]):
    """Find tools, write code, check and execute it, mend it at most ``attempts - 1`` times, interpret the outcome.

    When the sandbox or the service is down or the attempts are spent, the model answers without code: ``fallback="direct"`` asks
    it the question alone, ``"answer"`` lets it use what the attempts showed, ``"raise"`` raises. The output says so, and
    ``counts`` counts it.
    """

    def __init__(
        self, source: GivenSource, model: BaseChatModel, *, attempts: int = 3, fallback: Fallback = "direct",
        identity: Identity = LOCAL_IDENTITY, budget: int | None = None, limits: Mapping[str, Any] | None = None,
        token: str | None = None,
    ) -> None:  # fmt: skip
        """Takes the sources of the toolkit, and any chat model; no tool calling is needed.

        Raises:
            ConfigError: the number of attempts is not between 1 and 10, or there is no such fallback.
        """
        if not 1 <= attempts <= MOST_ATTEMPTS:
            raise ConfigError(f"attempts is {attempts}: give a number from 1 to {MOST_ATTEMPTS}")
        if fallback not in ("direct", "answer", "raise"):
            raise ConfigError(f'there is no fallback {fallback!r}; there are "direct", "answer" and "raise"')
        self._backend, self._bridge = open_source(source, token=token)
        self._model, self._attempts = model, attempts
        self._fallback: Fallback = fallback
        self._request = CodeRequest(identity=identity, budget=budget, limits=limits)
        self.counts: Counter[str] = Counter()
        """How many questions were answered, by mode; ``"raised"`` counts those that were not."""

    def as_chain(self) -> Runnable[ChainInput | str, ChainOutput]:
        """Returns the chain as a plain ``Runnable``: it composes with ``|``, ``with_retry`` and ``with_config``."""
        return self

    def invoke(self, input: ChainInput | str, config: RunnableConfig | None = None, **_options: Any) -> ChainOutput:  # noqa: A002
        """Answers one question."""

        # LangChain passes the settings with the callbacks of this run to functions with these names of parameters.
        def answer(given: ChainInput | str, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> ChainOutput:  # noqa: ARG001
            return _add_parts(self._drive(given, config, streaming=False))

        return self._call_with_config(answer, input, config)

    async def ainvoke(self, input: ChainInput | str, config: RunnableConfig | None = None, **_options: Any) -> ChainOutput:  # noqa: A002
        """Answers one question on an event loop."""

        async def answer(
            given: ChainInput | str, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig  # noqa: ARG001
        ) -> ChainOutput:  # fmt: skip
            return _add_parts([part async for part in self._adrive(given, config, streaming=False)])

        return await self._acall_with_config(answer, input, config)

    def stream(self, input: ChainInput | str, config: RunnableConfig | None = None, **_options: Any) -> Iterator[ChainOutput]:  # noqa: A002
        """Yields parts of the output as they come; added together they are the output."""
        yield from cast("Iterator[ChainOutput]", self._drive(input, config or {}, streaming=True))

    async def astream(
        self, input: ChainInput | str, config: RunnableConfig | None = None, **_options: Any  # noqa: A002
    ) -> AsyncIterator[ChainOutput]:  # fmt: skip
        """Does the same on an event loop."""
        async for part in self._adrive(input, config or {}, streaming=True):
            yield cast("ChainOutput", part)

    def _drive(self, given: ChainInput | str, config: RunnableConfig, *, streaming: bool) -> Iterator[AddableDict]:
        flow, usage, mode = self._begin(given), dict[str, dict[str, int]](), "raised"
        result: Any = None
        failure: Error | None = None
        try:
            while (step := _advance(flow, result, failure)) is not None:
                result, failure = None, None
                if isinstance(step, Tell):
                    mode = step.part.get("mode", mode)
                    yield AddableDict(step.part)
                elif isinstance(step, AskModel):
                    counted = UsageMetadataCallbackHandler()
                    told = merge_configs(config, {"callbacks": [counted]})
                    if streaming and step.visible:
                        for piece in self._model.stream(step.messages, told):
                            yield AddableDict(answer=str(piece.text))
                    else:
                        result = str(self._model.invoke(step.messages, told).text)
                    usage[step.step] = _sum_usage(counted.usage_metadata)
                    if step.visible and not streaming:
                        yield AddableDict(answer=result)
                else:
                    try:
                        result = self._bridge.run(self._choose_work(step), _ignore)
                    except Error as error:
                        failure = error
            yield _build_usage_part(usage)
        finally:
            self.counts[mode] += 1

    async def _adrive(self, given: ChainInput | str, config: RunnableConfig, *, streaming: bool) -> AsyncIterator[AddableDict]:
        flow, usage, mode = self._begin(given), dict[str, dict[str, int]](), "raised"
        result: Any = None
        failure: Error | None = None
        try:
            while (step := _advance(flow, result, failure)) is not None:
                result, failure = None, None
                if isinstance(step, Tell):
                    mode = step.part.get("mode", mode)
                    yield AddableDict(step.part)
                elif isinstance(step, AskModel):
                    counted = UsageMetadataCallbackHandler()
                    told = merge_configs(config, {"callbacks": [counted]})
                    if streaming and step.visible:
                        async for piece in self._model.astream(step.messages, told):
                            yield AddableDict(answer=str(piece.text))
                    else:
                        result = str((await self._model.ainvoke(step.messages, told)).text)
                    usage[step.step] = _sum_usage(counted.usage_metadata)
                    if step.visible and not streaming:
                        yield AddableDict(answer=result)
                else:
                    try:
                        result = await self._bridge.arun(self._choose_work(step), _ignore)
                    except Error as error:
                        failure = error
            yield _build_usage_part(usage)
        finally:
            self.counts[mode] += 1

    def _begin(self, given: ChainInput | str) -> Flow:
        asked: ChainInput = {"question": given} if isinstance(given, str) else given
        request = replace(self._request, context=dict(asked.get("context") or {}), session=asked.get("session"))
        return take_chain_steps(asked, request, self._attempts, self._fallback)

    def _choose_work(self, step: Find | RunCode | Estimate) -> Work[Any]:
        backend, identity = self._backend, self._request.identity

        async def work(_send: Send) -> Any:
            match step:
                case Find():
                    return await backend.search(step.question, detail_level="full", limit=SEARCH_LIMIT, request=self._request)
                case RunCode():
                    return await backend.execute(step.request, None)
                case Estimate():
                    return await backend.estimate_direct(step.execution, identity=identity)

        return work


def _advance(flow: Flow, result: Any, failure: Error | None) -> Find | AskModel | RunCode | Estimate | Tell | None:
    """Returns the next step of the flow, which gets the result of the step before, or its error; None at the end."""
    try:
        return flow.throw(failure) if failure is not None else flow.send(result)
    except StopIteration:
        return None


def _add_parts(parts: Iterable[AddableDict]) -> ChainOutput:
    whole = AddableDict()
    for part in parts:
        whole = whole + part
    return cast("ChainOutput", dict(whole))


def _sum_usage(by_model: Mapping[str, Any]) -> dict[str, int]:
    names = ("input_tokens", "output_tokens", "total_tokens")
    return {name: sum(int(used.get(name, 0)) for used in by_model.values()) for name in names}


def _build_usage_part(usage: dict[str, dict[str, int]]) -> AddableDict:
    return AddableDict(usage=usage, total_tokens=sum(one["total_tokens"] for one in usage.values()))


def _ignore(_item: Any) -> None:
    """Ignores what the work sends: nothing."""
