"""Who hears that files have changed: listeners of the 2026 revision by caller, subscribers of older ones by address.

Nothing is announced that the listener could not see: each caller has a bus of its own.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

from gristmill.serve.mcp.resources.file_resources import Files, Place, snapshot
from gristmill.serve.mcp.who import Who

log = logging.getLogger(__name__)

MOST_CALLERS = 1_024
MOST_SUBSCRIPTIONS = 1_024
MOST_SNAPSHOTS = 1_024

Seen = Mapping[str, tuple[int, float]]


class Changes:
    """Compares workspaces after each run and tells who wants to know."""

    def __init__(self) -> None:
        self._buses: dict[Who, InMemorySubscriptionBus] = {}
        self._listeners: dict[Who, ListenHandler] = {}
        self._subscribers: dict[str, list[ServerSession]] = {}
        self._seen: dict[str, Seen] = {}
        self._telling: set[asyncio.Task[None]] = set()

    def listener(self, caller: Who) -> ListenHandler:
        """Serves ``subscriptions/listen`` for ``caller``."""
        if caller not in self._listeners:
            while len(self._listeners) >= MOST_CALLERS:
                oldest = next(iter(self._listeners))
                self._listeners.pop(oldest).close()
                del self._buses[oldest]
            self._buses[caller] = InMemorySubscriptionBus()
            self._listeners[caller] = ListenHandler(self._buses[caller], max_subscriptions=64)
        return self._listeners[caller]

    def subscribe(self, uri: str, session: ServerSession) -> None:
        """An older client wants to hear of ``uri``."""
        if sum(map(len, self._subscribers.values())) < MOST_SUBSCRIPTIONS:
            self._subscribers.setdefault(uri, []).append(session)

    def unsubscribe(self, uri: str) -> None:
        """It no longer does. Sessions are made anew for each request, so all of that address go; a listener may come back."""
        self._subscribers.pop(uri, None)

    def after_run(self, caller: Who, session: str, files: Files, connection: ServerSession | None) -> None:
        """Look at the workspace and tell, while the answer is on its way."""
        task = asyncio.create_task(self._tell(caller, session, files, connection))
        self._telling.add(task)
        task.add_done_callback(self._told)

    async def close(self) -> None:
        """Let listeners know that this is the end."""
        for listener in self._listeners.values():
            listener.close()
        for task in self._telling:
            task.cancel()
        await asyncio.gather(*self._telling, return_exceptions=True)

    async def _tell(self, caller: Who, session: str, files: Files, connection: ServerSession | None) -> None:
        before, now = self._seen.get(session, {}), await snapshot(files)
        self._seen[session] = now
        while len(self._seen) > MOST_SNAPSHOTS:
            del self._seen[next(iter(self._seen))]
        bus = self._buses.get(caller)
        if before.keys() != now.keys():
            if bus:
                await bus.publish(ResourcesListChanged())
            if connection:
                await connection.send_resource_list_changed()
        for path in [path for path, state in now.items() if before.get(path, state) != state]:
            uri = Place(session=session, path=path).uri
            if bus:
                await bus.publish(ResourceUpdated(uri=uri))
            for subscriber in self._subscribers.get(uri, ()):
                await subscriber.send_resource_updated(uri)

    def _told(self, task: "asyncio.Task[Any]") -> None:
        self._telling.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.debug("a change was not announced: %s", error)
