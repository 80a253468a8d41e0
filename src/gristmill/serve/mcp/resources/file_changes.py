"""Announces changed files: to listeners of the 2026 revision by caller, to subscribers of older revisions by URI.

A listener hears only of files that it may see: each caller has a bus of its own.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from gristmill.model import Identity
from gristmill.serve.mcp.resources.file_resources import ResourceFiles, ResourcePlace, take_snapshot

log = logging.getLogger(__name__)

MOST_CALLERS = 1_024
MOST_SUBSCRIPTIONS = 1_024
MOST_SNAPSHOTS = 1_024

Seen = Mapping[str, tuple[int, float]]
"""The size and the time of every file by its path."""


class FileChanges:
    """Compares workspaces after each run and announces changes to listeners and subscribers."""

    def __init__(self) -> None:
        self._buses: dict[Identity, InMemorySubscriptionBus] = {}
        self._listeners: dict[Identity, ListenHandler] = {}
        self._subscribers: dict[str, list[ServerSession]] = {}
        self._seen: dict[str, Seen] = {}
        self._telling: set[asyncio.Task[None]] = set()

    def get_listener(self, identity: Identity) -> ListenHandler:
        """Returns the handler that serves ``subscriptions/listen`` for ``identity``."""
        if identity not in self._listeners:
            while len(self._listeners) >= MOST_CALLERS:
                oldest = next(iter(self._listeners))
                self._listeners.pop(oldest).close()
                del self._buses[oldest]
            self._buses[identity] = InMemorySubscriptionBus()
            self._listeners[identity] = ListenHandler(self._buses[identity], max_subscriptions=64)
        return self._listeners[identity]

    def subscribe(self, uri: str, session: ServerSession) -> None:
        """Adds a subscriber of an older revision to ``uri``, unless there are too many."""
        if sum(map(len, self._subscribers.values())) < MOST_SUBSCRIPTIONS:
            self._subscribers.setdefault(uri, []).append(session)

    def unsubscribe(self, uri: str) -> None:
        """Removes all subscribers of ``uri``: the SDK makes a new session object for each request, so one cannot be found again.

        The others may subscribe again.
        """
        self._subscribers.pop(uri, None)

    def start_announcing(self, identity: Identity, session: str, files: ResourceFiles, connection: ServerSession | None) -> None:
        """Compares the workspace and announces changes in the background, while the answer is sent."""
        task = asyncio.create_task(self._announce_changes(identity, session, files, connection))
        self._telling.add(task)
        task.add_done_callback(self._finish_announcement)

    def start_announcing_tools(self) -> None:
        """Tells all listeners in the background that the list of tools has changed."""
        task = asyncio.create_task(self._announce_tools())
        self._telling.add(task)
        task.add_done_callback(self._finish_announcement)

    async def _announce_tools(self) -> None:
        for bus in tuple(self._buses.values()):
            await bus.publish(ToolsListChanged())

    async def close(self) -> None:
        """Ends all listeners and announcements."""
        for listener in self._listeners.values():
            listener.close()
        for task in self._telling:
            task.cancel()
        await asyncio.gather(*self._telling, return_exceptions=True)

    async def _announce_changes(
        self, identity: Identity, session: str, files: ResourceFiles, connection: ServerSession | None
    ) -> None:
        before, now = self._seen.get(session, {}), await take_snapshot(files)
        self._seen[session] = now
        while len(self._seen) > MOST_SNAPSHOTS:
            del self._seen[next(iter(self._seen))]
        bus = self._buses.get(identity)
        if before.keys() != now.keys():
            if bus:
                await bus.publish(ResourcesListChanged())
            if connection:
                await connection.send_resource_list_changed()
        for path in [path for path, state in now.items() if before.get(path, state) != state]:
            uri = ResourcePlace(session=session, path=path).uri
            if bus:
                await bus.publish(ResourceUpdated(uri=uri))
            for subscriber in self._subscribers.get(uri, ()):
                await subscriber.send_resource_updated(uri)

    def _finish_announcement(self, task: "asyncio.Task[Any]") -> None:
        self._telling.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.debug("a change was not announced: %s", error)
