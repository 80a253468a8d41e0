"""Fits the number of connections to the descriptors that this process may open, and handles their lack at accept."""

import asyncio
import logging
import os
import resource
import time
from typing import Any

from gristmill.serve.http.json_logs import log_event
from gristmill.serve.http.limits.connection_crowd import RESERVE, ConnectionCrowd

PER_EXECUTION = 16
"""Descriptors that one execution may open."""
OTHERS = 16
"""Descriptors for files that are opened for a moment, such as uploads and the store's."""
LEAST_CONNECTIONS = 4
ACCEPTED_AT_ONCE = 16
"""New connections that are taken before requests of others are read. Without descriptors asyncio tries as often in vain, and logs
each time."""
QUIET_SECONDS = 10.0
"""How often a lack of descriptors is logged."""
_ACCEPT_FAILED = "socket.accept() out of system resource"


def build_crowd(connections: int, executions: int) -> ConnectionCrowd:
    """Returns the limits of connections: as configured, or fewer if this process cannot open as many descriptors.

    To be called when everything else is open. ``executions`` may run at the same time.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return ConnectionCrowd(most=connections)
    room = limit - len(os.listdir("/proc/self/fd")) - OTHERS
    # With few descriptors executions and connections share what there is; an execution that finds none is answered 503.
    room = max(LEAST_CONNECTIONS, room // 4, room - PER_EXECUTION * executions)
    reserve = min(RESERVE, max(1, room // 4))
    most = min(connections, max(LEAST_CONNECTIONS, room - reserve))
    if most < connections:
        advice = "raise the limit of open files (ulimit -n, LimitNOFILE=), or lower serve.connections"
        log_event(
            "fewer connections than configured",
            level=logging.WARNING,
            connections=most,
            configured=connections,
            descriptors=limit,
            advice=advice,
        )
    return ConnectionCrowd(most=most, reserve=reserve)


class AcceptErrors:
    """Handles errors of the event loop: a lack of descriptors at accept is logged now and then, everything else as usual."""

    def __init__(self) -> None:
        self._logged = -QUIET_SECONDS
        self._unlogged = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handles one error."""
        if context.get("message") != _ACCEPT_FAILED:
            loop.default_exception_handler(context)
            return
        self._unlogged += 1
        now = time.monotonic()
        if now - self._logged >= QUIET_SECONDS:
            reason = getattr(context.get("exception"), "strerror", None)
            log_event("cannot accept connections", level=logging.ERROR, reason=reason, times=self._unlogged)
            self._logged, self._unlogged = now, 0
