"""An OpenAPI document is a server too: each operation becomes a tool, each call one HTTP request."""

from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError, Error, ToolFailed, UpstreamUnavailable
from gristmill.model import Json, Tool, ToolCall, ToolResult
from gristmill.upstream.base import ServerStatus, State, check_known
from gristmill.upstream.http.http_transport import Address, guarded_client
from gristmill.upstream.mcp.blob import Blob
from gristmill.upstream.mcp.tool_results import text_to_value
from gristmill.upstream.mcp.translate_errors import translate
from gristmill.upstream.openapi.openapi_operations import Operation, parse_document, read_operations
from gristmill.upstream.remembered_tools import Remembered
from gristmill.upstream.secret_references import Secrets
from gristmill.upstream.server_terms import forget
from gristmill.upstream.short_text import one_line
from gristmill.upstream.tool_filter import Filter

_LONGEST_ERROR = 500
_DOCUMENT_CAP = 16_000_000


class OpenApi:
    """The operations of one document behind the face of an ``Upstream``."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        secrets: Secrets,
        known: Remembered | None = None,
        keep: Callable[[Remembered], None] = forget,
    ) -> None:
        self._name = name
        self._config = config
        self._secrets = secrets
        self._tools = known.tools if known else ()
        self._keep = keep
        self._operations: dict[str, Operation] = {}
        self._base = ""
        self._error: str | None = None
        self._state: State = "idle"
        self._client: httpx2.AsyncClient | None = None
        self._wanted = anyio.Event()
        self._settled = anyio.Event()

    @property
    def name(self) -> str:
        """As in the configuration."""
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """One per operation."""
        return self._tools

    @property
    def status(self) -> ServerStatus:
        """One row of a table."""
        tools = len(self._tools)
        return ServerStatus(name=self._name, kind="openapi", state=self._state, tools=tools, error=self._error)

    async def run(self) -> None:
        """Read the document when it is wanted, then keep the connections until cancelled."""
        await self._wanted.wait()
        try:
            self._state = "connecting"
            with anyio.fail_after(self._config.connect_seconds):
                await self._read()
            async with guarded_client(self._address(self._base, self._config.message_mb * 1_000_000)) as client:
                self._client, self._state = client, "ready"
                self._settled.set()
                await anyio.sleep_forever()
        except Exception as error:  # whatever is wrong with the document, the other servers go on
            self._state = "failed"
            self._error = self._secrets.mask(one_line(str(translate(error, self._name))))
        finally:
            self._client = None
            self._settled.set()

    async def settled(self) -> None:
        """Return once the document was read, or was found to be unusable."""
        self._wanted.set()
        with anyio.move_on_after(self._config.connect_seconds):
            await self._settled.wait()

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Make the request of one operation."""
        await self.settled()
        if self._client is None:
            raise UpstreamUnavailable(self._error or f"{self._name} is not ready")
        if tool not in self._operations:
            check_known(tool, self._name, self.tools)
        request = self._operations[tool].request(call.arguments, self._base)
        try:
            with anyio.fail_after(self._config.call_seconds):
                response = await self._client.request(**request)
        except Exception as error:  # the edge of this room
            raise self._masked(translate(error, self._name)) from None
        return ToolResult(value=_value(response))

    async def _read(self) -> None:
        assert self._config.openapi
        document = parse_document(await self._text(self._config.openapi), self._config.openapi)
        self._base = self._config.base_url or document.base_url(self._config.openapi)
        only = Filter(include=self._config.include, exclude=self._config.exclude)
        found = read_operations(document, self._name)
        self._operations = {operation.tool.name: operation for operation in found if only.admits(operation.tool.name)}
        tools = tuple(operation.tool for operation in self._operations.values())
        if tools != self._tools:
            self._tools = tools
            await anyio.to_thread.run_sync(self._keep, Remembered(tools=tools))

    async def _text(self, place: str) -> str:
        if not place.startswith(("http://", "https://")):
            try:
                return await anyio.to_thread.run_sync(lambda: Path(place).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"cannot read {place}: {error}") from None
        async with guarded_client(self._address(place, _DOCUMENT_CAP)) as client:
            response = await client.get(place)
        if response.status_code != 200:
            raise UpstreamUnavailable(f"the document at {place} answered HTTP {response.status_code}")
        return response.text

    def _address(self, url: str, cap: int) -> Address:
        headers = {key: self._secrets.resolve(value) for key, value in self._config.headers.items()}
        seconds = self._config.call_seconds
        return Address(url=url, headers=headers, cap=cap, call_seconds=seconds, speaks_mcp=False)

    def _masked(self, error: Error) -> Error:
        text = self._secrets.mask(str(error))
        return error if text == str(error) else type(error)(text)


def _value(response: httpx2.Response) -> Json:
    if response.status_code >= 400:
        raise ToolFailed(f"HTTP {response.status_code}: {one_line(response.text[:_LONGEST_ERROR])}")
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if not response.content:
        return None
    if kind == "application/json" or kind.endswith("+json"):
        return _json(response)
    if kind.startswith("text/") or kind in ("", "application/xml", "application/yaml"):
        return text_to_value(response.text)
    return Blob(data=response.content, mime=kind)


def _json(response: httpx2.Response) -> Json:
    try:
        return response.json()
    except ValueError:
        return response.text
