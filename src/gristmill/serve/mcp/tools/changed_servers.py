"""What has changed about the servers since a door opened, and how clients hear of it: by ``tools/list``, and a notification.

The list of tools is always the same two or three. The description of ``search_tools`` names servers that came and went, because
the server instructions, which name them too, are sent only once in a connection.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence

from mcp.server.session import ServerSession

from gristmill.harmless_text import neutralize_text
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 256
MOST_NAMED = 10
"""How many servers a description names of those that came, and of those that went."""
SEND_SECONDS = 5.0
"""How long a client may take to accept the notification."""


class ChangedServers:
    """The names of the servers when the door opened and now, and the connections of older revisions that listed the tools."""

    def __init__(self) -> None:
        self._first: tuple[str, ...] | None = None
        self._now: tuple[str, ...] = ()
        self._connections: OrderedDict[int, ServerSession] = OrderedDict()
        self._sending: set[asyncio.Task[None]] = set()

    def note_servers(self, before: Sequence[str], now: Sequence[str]) -> bool:
        """Takes note that the servers are ``now`` and were ``before``; returns whether the sentence is another one now."""
        said = self.sentence
        self._first, self._now = self._first or tuple(before), tuple(now)
        return self.sentence != said

    @property
    def names(self) -> tuple[str, ...] | None:
        """Returns the names of the servers now; None if they are still those that the door was opened with."""
        return None if self._first is None else self._now

    @property
    def sentence(self) -> str:
        """Returns what a model should know of the change, or an empty text."""
        if self._first is None:
            return ""
        came = [name for name in self._now if name not in self._first]
        went = [name for name in self._first if name not in self._now]
        parts = (("Connected since the start:", came), ("no longer connected:", went))
        said = "; ".join(f"{words} {_join_names(names)}" for words, names in parts if names)
        return f" {said[0].upper()}{said[1:]}." if said else ""

    def remember_connection(self, ctx: Ctx) -> None:
        """Remembers a connection of an older revision; newer ones are told by the stream that they listen to."""
        handshake = ctx.session.client_params
        if handshake is None or is_modern(ctx):
            return
        self._connections[id(handshake)] = ctx.session
        self._connections.move_to_end(id(handshake))
        while len(self._connections) > MOST_CONNECTIONS:
            self._connections.popitem(last=False)

    def start_notifying(self) -> None:
        """Tells the remembered connections in the background that the list of tools has changed."""
        for key, connection in list(self._connections.items()):
            task = asyncio.create_task(self._notify(key, connection))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def close(self) -> None:
        """Ends the notifications that are under way."""
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def _notify(self, key: int, connection: ServerSession) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await connection.send_tool_list_changed()
        except Exception as error:  # the edge of the SDK: a connection that is gone fails in many ways, and is forgotten
            self._connections.pop(key, None)
            log.debug("a client was not told of changed tools: %s", type(error).__name__)


def _join_names(names: Sequence[str]) -> str:
    shown = ", ".join(neutralize_text(name) for name in names[:MOST_NAMED])
    return shown + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
