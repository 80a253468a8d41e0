"""A sandbox for Deep Agents: their shell, and the tools for files that are made of it, in a session of ours."""

import inspect
import posixpath
import textwrap
import uuid
from collections.abc import Callable
from typing import Any, cast

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox
from langgraph.config import get_config
from msgspec import Struct

from gristmill.chat.code_backends import CodeBackend, CodeRequest
from gristmill.errors import ConfigError, Error, UnknownSession
from gristmill.model import LOCAL_IDENTITY, Identity, Outcome
from gristmill.serve.langchain import jail_commands
from gristmill.serve.langchain.call_surroundings import THREAD, name_thread_session
from gristmill.serve.langchain.jail_commands import move_files, remove_files, run_shell_command
from gristmill.serve.langchain.open_source import GivenSource, open_source

MOST_OUTPUT_BYTES = 1_000_000
"""How much of a command's output is kept."""
RESULT_TOKENS = 1_000_000
"""The budget of one command: its output is cut by bytes, not by tokens."""
MARGIN_SECONDS = 2.0
"""How much longer the run may take than the command, which is stopped in the jail first, so that its output is not lost."""
SPOOL = ".deepagents"
"""The folder of the workspace through which files come and go."""
NO_SHELL = 'the sandbox has no shell: set programs = ["shell"] under [sandbox] in the configuration of the runtime'
STOPPED, KILLED, FAILED = 124, 137, 1
"""Exit codes of commands that reached their time limit, another limit, or did not run at all."""


class GristmillSandbox(BaseSandbox):
    """The backend of ``create_deep_agent``, over an open ``Runtime``, a ``BlockingRuntime``, a client, or a service's address.

    ``session`` is ``"thread"`` (one session per conversation, the same that ``CodeModeMiddleware`` uses) or a name. Commands
    run with the programs that ``sandbox.programs`` names, without a network and without the machine's files.
    """

    def __init__(
        self, source: GivenSource, *, session: str = THREAD, identity: Identity = LOCAL_IDENTITY, token: str | None = None
    ) -> None:
        backend, self._bridge = open_source(source, token=token)
        self._session, self._alone = session, f"deepagents-{uuid.uuid4().hex[:16]}"
        self._identity, self._backend = identity, backend

    @property
    def id(self) -> str:
        """The name of the session in which commands run now."""
        return self._find_session()

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Runs a command; ``timeout`` lowers the time limit of the configuration, and cannot raise it.

        Raises:
            ConfigError: the sandbox has no shell.
            Error: the service cannot be reached, or refuses the caller.
        """
        jail = self._open_jail()
        return self._bridge.run(lambda _: jail.run_command(command, timeout), _ignore_item)

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:  # noqa: ASYNC109 - their signature
        """Does the same for a caller on an event loop."""
        jail = self._open_jail()
        return await self._bridge.arun(lambda _: jail.run_command(command, timeout), _ignore_item)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Puts files into the sandbox, anywhere that its code may write."""
        jail = self._open_jail()
        return self._bridge.run(lambda _: jail.upload(files), _ignore_item)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Does the same for a caller on an event loop."""
        jail = self._open_jail()
        return await self._bridge.arun(lambda _: jail.upload(files), _ignore_item)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Returns files of the sandbox as they are: unlike the output of commands, they are not masked."""
        jail = self._open_jail()
        return self._bridge.run(lambda _: jail.download(paths), _ignore_item)

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Does the same for a caller on an event loop."""
        jail = self._open_jail()
        return await self._bridge.arun(lambda _: jail.download(paths), _ignore_item)

    def _open_jail(self) -> "_JailFiles":
        # The conversation is read here, in the caller's context: on the loop of the runtime it is not known.
        return _JailFiles(self._backend, self._find_session(), self._identity)

    def _find_session(self) -> str:
        if self._session != THREAD:
            return self._session
        try:
            thread = get_config().get("configurable", {}).get("thread_id")
        except RuntimeError:  # outside of a graph
            thread = None
        return name_thread_session(str(thread)) if thread else self._alone


class _JailFiles(Struct, frozen=True):
    """Commands and files of one session."""

    backend: CodeBackend
    session: str
    identity: Identity

    async def run_command(self, command: str, seconds: int | None) -> ExecuteResponse:
        seconds = seconds or None  # 0 asks for no limit of its own: the limit of the configuration holds
        program = build_call(run_shell_command, command, seconds, MOST_OUTPUT_BYTES)
        outcome = await self._execute(program, seconds)
        if outcome.status != "ok":
            return _explain_outcome(outcome)
        found = cast("dict[str, Any]", outcome.result)
        if "no_shell" in found:
            raise ConfigError(f"{NO_SHELL} ({found['no_shell']})")
        output = str(found["output"])
        if found["stopped"]:
            output += f"\n[stopped after {seconds} seconds]"
        elif found["truncated"]:
            output += f"\n[only the first {MOST_OUTPUT_BYTES:,} bytes are shown]"
        return ExecuteResponse(output=output, exit_code=found["exit_code"], truncated=bool(found["truncated"]))

    async def upload(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        errors: list[str | None] = [_check_path(path) for path, _ in files]
        spooled: dict[int, str] = {}
        for number, (_, content) in enumerate(files):
            if errors[number] is None:
                name = f"{SPOOL}/{uuid.uuid4().hex}"
                try:
                    await self._put(name, content)
                    spooled[number] = f"/workspace/{name}"
                except Error as error:
                    errors[number] = error.message
        pairs = [(origin, files[number][0]) for number, origin in spooled.items()]
        for number, error in zip(spooled, await self._call(move_files, pairs, False), strict=True):
            errors[number] = error
        return [FileUploadResponse(path=path, error=error) for (path, _), error in zip(files, errors, strict=True)]

    async def download(self, paths: list[str]) -> list[FileDownloadResponse]:
        found = [FileDownloadResponse(path=path, error=_check_path(path)) for path in paths]
        asked = [(one, f"{SPOOL}/{uuid.uuid4().hex}") for one in found if one.error is None]
        errors = await self._call(move_files, [(one.path, f"/workspace/{name}") for one, name in asked], True)
        for (one, name), error in zip(asked, errors, strict=True):
            one.error = error
            if error is None:
                try:
                    one.content = await self.backend.download(self.session, name, identity=self.identity)
                except Error as refusal:
                    one.error = refusal.message
        if asked:
            await self._execute(build_call(remove_files, [f"/workspace/{name}" for _, name in asked]), None)
        return found

    async def _call(self, function: Callable[..., Any], pairs: list[tuple[str, str]], keep: bool) -> list[str | None]:
        if not pairs:
            return []
        outcome = await self._execute(build_call(function, pairs, keep), None)
        if outcome.status != "ok":
            return [_explain_outcome(outcome).output] * len(pairs)
        return cast("list[str | None]", outcome.result)

    async def _put(self, name: str, content: bytes) -> None:
        try:
            await self.backend.upload(self.session, name, content, identity=self.identity)
        except UnknownSession:  # a service opens a session with its first program
            await self._execute("None", None)
            await self.backend.upload(self.session, name, content, identity=self.identity)

    async def _execute(self, code: str, seconds: float | None) -> Outcome:
        limits = None if seconds is None else {"seconds": seconds + MARGIN_SECONDS}
        request = CodeRequest(code=code, session=self.session, limits=limits, budget=RESULT_TOKENS, identity=self.identity)
        return await self.backend.execute(request, None)


def build_call(function: Callable[..., Any], *arguments: Any) -> str:
    """Returns a program that calls ``function`` of ``jail_commands`` with plain values, and leaves no names behind but one."""
    imports = [line for line in inspect.getsource(jail_commands).splitlines() if line.startswith("import ")]
    call = f"return {function.__name__}({', '.join(map(ascii, arguments))})"
    body = "\n".join([*imports, inspect.getsource(function), call])
    # The annotations stay text in the jail, where their names are not known.
    return f"from __future__ import annotations\ndef _gristmill():\n{textwrap.indent(body, '    ')}\n_gristmill()\n"


def _check_path(path: str) -> str | None:
    """Returns an error for a path that is not absolute, or that names no file."""
    clean = path.startswith("/") and "\0" not in path and posixpath.normpath(path) != "/"
    return None if clean else "invalid_path"


def _explain_outcome(outcome: Outcome) -> ExecuteResponse:
    code = STOPPED if outcome.limit == "seconds" else KILLED if outcome.limit else FAILED
    text = outcome.error or outcome.output or f"the command did not run: {outcome.status}"
    return ExecuteResponse(output=text, exit_code=code, truncated=outcome.limit is not None)


def _ignore_item(_item: Any) -> None:
    """Ignores what a backend sends: nothing is listened to."""
