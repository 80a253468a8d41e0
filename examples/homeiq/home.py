"""A live Home Assistant: REST and WebSocket, with a limit on every wait and every answer. The token is never shown."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import anyio
import httpx2
import websockets
from mcp.server.mcpserver.exceptions import ToolError
from websockets.exceptions import WebSocketException

SECONDS = 20.0
"""How long all of one answer may take."""
MOST_BYTES = 50_000_000


class Home:
    """One Home Assistant, by its address and a long-lived token."""

    def __init__(self, url: str, token: str, *, seconds: float = SECONDS) -> None:
        """Check both.

        Raises:
            ValueError: one of them cannot be right; the token is not quoted.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ValueError("HA_HTTP_URL is no address such as http://homeassistant.local:8123")
        if not token or not all("!" <= letter <= "~" for letter in token):
            # Errors of the HTTP library would quote it.
            raise ValueError("HA_TOKEN is no token: make a long-lived one on your profile page in Home Assistant")
        self._url, self._token, self._seconds = url.rstrip("/"), token, seconds
        self._zone: ZoneInfo | None = None

    async def zone(self) -> ZoneInfo:
        """The time zone of the house."""
        if self._zone is None:
            settings = await self.get("/api/config")
            with self._plain_words():
                self._zone = ZoneInfo(settings["time_zone"])
        return self._zone

    async def get(self, path: str, **query: str) -> Any:
        """What the REST API answers at ``path``.

        Raises:
            ToolError: it is not there, too slow, or refuses; says which.
        """
        headers = {"Authorization": f"Bearer {self._token}"}
        with self._plain_words(), anyio.fail_after(self._seconds):
            # A house is near: no proxy and no other address gets to see the token.
            async with (
                httpx2.AsyncClient(timeout=self._seconds, trust_env=False, follow_redirects=False) as client,
                client.stream("GET", f"{self._url}{path}", params=query, headers=headers) as response,
            ):
                self._check(response.status_code, path)
                return json.loads(await _body(response))

    async def ask(self, *commands: str) -> list[Any]:
        """What the WebSocket answers to ``commands``, in their order.

        Raises:
            ToolError: it is not there, too slow, or refuses; says which.
        """
        address = f"ws{self._url.removeprefix('http')}/api/websocket"
        with self._plain_words(), anyio.fail_after(self._seconds):
            async with websockets.connect(address, max_size=MOST_BYTES, open_timeout=self._seconds, proxy=None) as socket:
                await _until(socket, "auth_required")
                await socket.send(json.dumps({"type": "auth", "access_token": self._token}))
                if (await _until(socket, "auth_ok", "auth_invalid"))["type"] == "auth_invalid":
                    self._check(401, "/api/websocket")
                found: list[Any] = []
                for number, command in enumerate(commands, 1):
                    await socket.send(json.dumps({"id": number, "type": command}))
                    answer = await _until(socket, "result")
                    if not answer.get("success"):
                        raise ToolError(f"Home Assistant refused {command}: {answer.get('error', {}).get('message')}")
                    found.append(answer["result"])
                return found

    def _check(self, status: int, path: str) -> None:
        if status in (401, 403):
            raise ToolError("Home Assistant refused the token in HA_TOKEN: make a new long-lived one on your profile page there")
        if status == 404:
            raise ToolError(f"{self._url} has no {path}: is it a Home Assistant with history and logbook?")
        if status != 200:
            raise ToolError(f"Home Assistant answered {path} with status {status}")

    @contextmanager
    def _plain_words(self) -> Generator[None]:
        """Foreign failures as sentences that say what to do; none of them quotes the token."""
        try:
            yield
        except (TimeoutError, httpx2.TimeoutException):
            raise ToolError(
                f"Home Assistant at {self._url} did not answer within {self._seconds:g} s: try again, or ask for a shorter span"
            ) from None
        except (OSError, httpx2.TransportError):
            raise ToolError(f"no Home Assistant answers at {self._url}: check HA_HTTP_URL, and whether it runs") from None
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, WebSocketException):
            raise ToolError(f"what answers at {self._url} does not speak as Home Assistant does: check HA_HTTP_URL") from None


async def _body(response: httpx2.Response) -> bytes:
    parts, size = list[bytes](), 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise ToolError(f"the answer is larger than {MOST_BYTES:,} bytes: ask for a shorter span")
    return b"".join(parts)


async def _until(socket: websockets.ClientConnection, *kinds: str) -> Mapping[str, Any]:
    """The next message of one of ``kinds``; others are none of ours. The caller limits the wait."""
    while True:
        message = json.loads(await socket.recv())
        if message["type"] in kinds:
            return message
