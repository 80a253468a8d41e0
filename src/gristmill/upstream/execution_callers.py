"""The caller of each running execution: who receives its events, and who answers when a server asks a question during a call."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct

from gristmill.errors import CallRefused, ConfigError
from gristmill.events import Emit, Event, ToolsListed, ignore_event
from gristmill.upstream.base import Ask, InputAnswer, InputRequest


class _Caller(Struct, frozen=True):
    """The listener and the answerer of one running execution."""

    emit: Emit
    ask: Ask | None


async def refuse_questions(request: InputRequest) -> InputAnswer:
    """Refuses every question of a server: the ``Ask`` for executions whose caller cannot answer questions.

    Raises:
        CallRefused: always.
    """
    raise CallRefused(f"{request.server} asks for input, and the caller of this execution cannot answer", rule="call.input")


class ExecutionCallers:
    """Passes events and questions of servers to the execution that they belong to, and to the opener of the runtime."""

    def __init__(self, emit: Emit = ignore_event, ask: Ask | None = None, notice: Emit = ignore_event) -> None:
        """Sets the listener and answerer for all executions; ``notice`` receives events about tool definitions in any case."""
        self._emit, self._ask, self._notice = emit, ask, notice
        self._callers: dict[str, _Caller] = {}
        self.on_listed: Callable[[], object] = bool

    @contextmanager
    def attach_caller(self, execution: str, emit: Emit, ask: Ask | None) -> Generator[None]:
        """Attaches a caller to ``execution`` while the block runs: ``emit`` receives its events, ``ask`` answers its questions.

        Raises:
            ConfigError: the runtime was opened without ``ask``, so servers were told that questions cannot be answered.
        """
        if ask is not None and self._ask is None:
            raise ConfigError("servers were told that questions cannot be answered: open the runtime with ask=refuse_questions")
        if emit is ignore_event and ask is None:
            yield
            return
        self._callers[execution] = _Caller(emit, ask)
        try:
            yield
        finally:
            del self._callers[execution]

    @property
    def listener(self) -> Emit:
        """Returns the listener of the opener of the runtime, combined with ``notice`` if there is one."""
        return self._emit if self._notice is ignore_event else self._emit_and_notice

    def _emit_and_notice(self, event: Event) -> None:
        self._notice(event)
        self._emit(event)

    def emit(self, event: Event) -> None:
        """Passes an event to the opener of the runtime and to the caller of the execution that the event belongs to."""
        if isinstance(event, ToolsListed):
            self.on_listed()
        self._emit(event)
        caller = self._callers.get(getattr(event, "execution", ""))
        if caller is not None:
            caller.emit(event)

    def has_listener(self, execution: str) -> bool:
        """Whether anyone receives the events of ``execution``."""
        caller = self._callers.get(execution)
        return self._emit is not ignore_event or (caller is not None and caller.emit is not ignore_event)

    @property
    def ask(self) -> Ask | None:
        """Returns the function that answers questions of servers, or None if questions cannot be answered."""
        return None if self._ask is None else self._answer_question

    async def _answer_question(self, request: InputRequest) -> InputAnswer:
        caller = self._callers.get(request.call.execution) if request.call else None
        ask = caller.ask if caller and caller.ask else self._ask
        assert ask is not None
        return await ask(request)
