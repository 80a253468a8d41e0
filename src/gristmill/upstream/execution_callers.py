"""Who is behind an execution: whom its events go to, and who answers when a server asks something in the middle of a call."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from gristmill.errors import CallRefused, ConfigError
from gristmill.events import Emit, Event, ToolsListed, ignore
from gristmill.upstream.base import Ask, InputAnswer, InputRequest
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True)
class _Caller:
    emit: Emit
    ask: Ask | None


async def refuse_questions(request: InputRequest) -> InputAnswer:
    """An ``Ask`` for executions with nobody behind them.

    Raises:
        CallRefused: always.
    """
    raise CallRefused(f"{request.server} asks for input, and nobody behind this execution can answer", rule="call.input")


class Callers:
    """Passes what servers say to the execution that it is about, and to whoever opened the runtime."""

    def __init__(self, emit: Emit = ignore, ask: Ask | None = None, notice: Emit = ignore) -> None:
        """``notice`` hears what is told about definitions, whoever listens besides."""
        self._emit, self._ask, self._notice = emit, ask, notice
        self._present: dict[str, _Caller] = {}
        self.on_listed: Callable[[], object] = bool

    @contextmanager
    def present(self, execution: str, emit: Emit, ask: Ask | None) -> Generator[None]:
        """While ``execution`` runs, ``emit`` hears of its calls and ``ask`` answers questions about them.

        Raises:
            ConfigError: servers were told that nobody answers questions.
        """
        if ask is not None and self._ask is None:
            raise ConfigError("servers were told that nobody answers questions: open the runtime with ask=refuse_questions")
        if emit is ignore and ask is None:
            yield
            return
        self._present[execution] = _Caller(emit, ask)
        try:
            yield
        finally:
            del self._present[execution]

    @property
    def listener(self) -> Emit:
        """Whoever opened the runtime, and whoever takes note."""
        return self._emit if self._notice is ignore else self._tell

    def _tell(self, event: Event) -> None:
        self._notice(event)
        self._emit(event)

    def emit(self, event: Event) -> None:
        """Pass an event on."""
        if isinstance(event, ToolsListed):
            self.on_listed()
        self._emit(event)
        caller = self._present.get(getattr(event, "execution", ""))
        if caller is not None:
            caller.emit(event)

    def heard(self, execution: str) -> bool:
        """Whether somebody listens to ``execution``."""
        caller = self._present.get(execution)
        return self._emit is not ignore or (caller is not None and caller.emit is not ignore)

    @property
    def ask(self) -> Ask | None:
        """Answers questions, if anybody does at all."""
        return None if self._ask is None else self._answer

    async def _answer(self, request: InputRequest) -> InputAnswer:
        caller = self._present.get(request.call.execution) if request.call else None
        ask = caller.ask if caller and caller.ask else self._ask
        assert ask is not None
        return await ask(request)
