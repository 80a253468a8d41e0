"""Offers an OpenAPI service as a server: each operation is a tool, each call one HTTP request."""

from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError, ToolFailed, UpstreamError, UpstreamUnavailable
from gristmill.model import Json, Tool, ToolCall, ToolResult
from gristmill.upstream.base import ServerStatus, State, check_tool_listed
from gristmill.upstream.http.environment_proxy import ProxyChoice
from gristmill.upstream.http.http_transport import HttpAddress, make_guarded_client
from gristmill.upstream.json_limits import JsonLimits, JsonRefused, check_json
from gristmill.upstream.listing.remembered_tools import RememberedTools
from gristmill.upstream.listing.tool_filter import ToolFilter
from gristmill.upstream.mcp.blob import Blob
from gristmill.upstream.mcp.tool_results import TextConverter, parse_json
from gristmill.upstream.mcp.translate_errors import mask_error, translate_error
from gristmill.upstream.mcp.wire_messages import LARGE_BYTES
from gristmill.upstream.openapi.openapi_operations import OpenApiOperation, parse_document, read_operations
from gristmill.upstream.openapi.pinned_origin import check_base_url, read_origin
from gristmill.upstream.secret_references import SecretReferences
from gristmill.upstream.server_terms import discard_tools
from gristmill.upstream.short_text import shorten_to_line

_LONGEST_ERROR = 500
_DOCUMENT_CAP = 16_000_000


class OpenApiServer:
    """The operations of one document as an ``Upstream``."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        secrets: SecretReferences,
        known: RememberedTools | None = None,
        keep: Callable[[RememberedTools], None] = discard_tools,
    ) -> None:
        self._name = name
        self._config = config
        self._secrets = secrets
        self._tools = known.tools if known else ()
        self._keep = keep
        self._operations: dict[str, OpenApiOperation] = {}
        self._base = ""
        self._error: str | None = None
        self._state: State = "idle"
        self._client: httpx2.AsyncClient | None = None
        self._wanted = anyio.Event()
        self._settled = anyio.Event()

    @property
    def name(self) -> str:
        """Returns the name from the configuration."""
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Returns one tool per operation."""
        return self._tools

    @property
    def status(self) -> ServerStatus:
        """Returns the state as one row of a table."""
        tools = len(self._tools)
        return ServerStatus(name=self._name, kind="openapi", state=self._state, tools=tools, error=self._error)

    @property
    def is_listed(self) -> bool:
        """Whether the document has been read in this process."""
        return self._client is not None

    async def run(self) -> None:
        """Reads the document at the first use, then keeps the connections open until cancelled."""
        await self._wanted.wait()
        try:
            self._state = "connecting"
            with anyio.fail_after(self._config.connect_seconds):
                await self._read_document()
            async with make_guarded_client(self._make_address(self._base, self._config.message_mb * 1_000_000)) as client:
                self._client, self._state = client, "ready"
                self._settled.set()
                await anyio.sleep_forever()
        except Exception as error:  # a document that fails in any way must not stop the other servers
            self._state = "failed"
            self._error = self._secrets.mask(shorten_to_line(str(translate_error(error, self._name))))
        finally:
            self._client = None
            self._settled.set()

    async def wait_until_settled(self) -> None:
        """Starts reading the document, if needed, and returns when it was read or found unusable."""
        self._wanted.set()
        with anyio.move_on_after(self._config.connect_seconds):
            await self._settled.wait()

    async def connect(self) -> None:
        """Returns when the document has been read.

        Raises:
            UpstreamUnavailable: it cannot be read or used.
        """
        await self._get_client()

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Sends the request of one operation."""
        client = await self._get_client()
        if tool not in self._operations:
            check_tool_listed(tool, self._name, self.tools)
        request = self._operations[tool].build_request(call.arguments, self._base)
        try:
            with anyio.fail_after(self._config.call_seconds):
                response = await client.request(**request)
        except Exception as error:  # the edge of this room: every foreign exception is translated here
            raise mask_error(translate_error(error, self._name), self._secrets.mask) from None
        limits = JsonLimits(values=self._config.message_values)
        try:
            if len(response.content) >= LARGE_BYTES:
                return ToolResult(value=await anyio.to_thread.run_sync(_convert_response, response, limits))
            return ToolResult(value=_convert_response(response, limits))
        except JsonRefused as refused:
            advice = f"; raise {refused.setting} under [servers.{self._name}] to read it" if refused.setting else ""
            raise UpstreamError(f"{self._name}: the answer was refused: {refused}{advice}") from None

    async def _get_client(self) -> httpx2.AsyncClient:
        await self.wait_until_settled()
        if self._client is None:
            raise UpstreamUnavailable(self._error or f"{self._name} is not ready")
        return self._client

    async def _read_document(self) -> None:
        assert self._config.openapi
        text = await self._load_text(self._config.openapi)
        # The thread may outlive its limit of time, but not for long: the size of the document is limited.
        self._base, self._operations = await anyio.to_thread.run_sync(self._parse_document, text, abandon_on_cancel=True)
        tools = tuple(operation.tool for operation in self._operations.values())
        if tools != self._tools:
            self._tools = tools
            await anyio.to_thread.run_sync(self._keep, RememberedTools(tools=tools))

    def _parse_document(self, text: str) -> tuple[str, dict[str, OpenApiOperation]]:
        """Returns the base URL and the operations by name."""
        assert self._config.openapi
        document = parse_document(text, self._config.openapi)
        only = ToolFilter(include=self._config.include, exclude=self._config.exclude)
        base = self._config.base_url
        base = check_base_url(base) if base else document.find_base_url(self._config.openapi)
        found = read_operations(document, self._name, self._config.headers, self._config.reads)
        return base, {each.tool.name: each for each in found if _is_offered(only, each)}

    async def _load_text(self, place: str) -> str:
        if not place.startswith(("http://", "https://")):
            try:
                return await anyio.to_thread.run_sync(lambda: Path(place).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"cannot read {place}: {error}") from None
        # The headers hold the API's credential: a document at another host than the API's is fetched without them.
        is_home = not self._config.base_url or read_origin(self._config.base_url) == read_origin(place)
        async with make_guarded_client(self._make_address(place, _DOCUMENT_CAP, with_headers=is_home)) as client:
            response = await client.get(place)
        if response.status_code != 200:
            raise UpstreamUnavailable(f"the document at {place} answered HTTP {response.status_code}")
        return response.text

    def _make_address(self, url: str, cap: int, *, with_headers: bool = True) -> HttpAddress:
        given = self._config.headers if with_headers else {}
        headers = {key: self._secrets.resolve(value) for key, value in given.items()}
        seconds = self._config.call_seconds
        proxies = ProxyChoice.from_environ(self._secrets.environ)
        return HttpAddress(url=url, headers=headers, cap=cap, call_seconds=seconds, proxies=proxies, speaks_mcp=False)


def _is_offered(only: ToolFilter, operation: OpenApiOperation) -> bool:
    """Returns whether the operation is offered. Patterns may mean its short name or the document's id."""
    names = (operation.tool.name, operation.id)
    if not all(ToolFilter(exclude=only.exclude).admits(name) for name in names):
        return False
    return any(only.admits(name) for name in names)


def _convert_response(response: httpx2.Response, limits: JsonLimits) -> Json:
    if response.status_code >= 400:
        raise ToolFailed(f"HTTP {response.status_code}: {shorten_to_line(_start_of_text(response))}")
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if not response.content:
        return None
    if kind == "application/json" or kind.endswith("+json"):
        return _parse_json(response, limits)
    if kind.startswith("text/") or kind in ("", "application/xml", "application/yaml"):
        return TextConverter(limits).convert(response.text)
    return Blob(data=response.content, mime=kind)


def _parse_json(response: httpx2.Response, limits: JsonLimits) -> Json:
    check_json(response.content, limits)
    try:
        return parse_json(response.content)
    except (ValueError, RecursionError):
        return response.text


def _start_of_text(response: httpx2.Response) -> str:
    return response.content[: 4 * _LONGEST_ERROR].decode(response.encoding or "utf-8", errors="replace")[:_LONGEST_ERROR]
