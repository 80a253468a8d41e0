"""FastAPI dependencies that require scopes of the caller, and the repeated check of long streams."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from gristmill.config.sections.serve_section import Scope
from gristmill.errors import Error, Refused, Unauthorized
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor

REVERIFY_SECONDS = 1.0
"""Shortest time between two verifications of the listener of a stream."""


def require_scope(*scopes: Scope) -> Any:
    """Returns a dependency that requires one of ``scopes`` and gives the route the verified caller."""

    async def check(request: Request) -> Principal:
        who: Principal = request.state.who
        who.require_scope(*scopes)
        return who

    return Depends(check)


async def _require_operator(request: Request) -> Principal:
    who: Principal = request.state.who
    who.require_scope("admin")
    if not who.is_operator:
        raise Refused("this shows data of all tenants: only admins of the tenant local may see it", rule="operator")
    return who


class ListenerCheck:
    """Checks whether the listener of an open stream is still allowed: a token that is revoked or expires ends its streams too."""

    def __init__(self, door: HttpDoor, connection: HTTPConnection) -> None:
        self._door, self._connection = door, connection
        self._verified = time.monotonic()

    async def __call__(self) -> bool:
        """Returns whether the listener is still allowed; verifies again only after a short time."""
        now = time.monotonic()
        if now - self._verified < REVERIFY_SECONDS:
            return True
        self._verified = now
        try:
            return await self._door.authenticate(self._connection) is not None
        except Unauthorized:
            return False
        except Error:
            return True  # the store or the identity provider cannot be reached: the last answer stays valid


Check = Callable[[Request], Awaitable[Principal]]
OPERATOR: Any = Depends(_require_operator)
"""Requires an admin of the whole service, who may see what belongs to all tenants."""
EXECUTE: Any = require_scope("execute")
EXECUTE_OR_READ: Any = require_scope("execute", "read", "admin")
READ: Any = require_scope("read", "admin")
APPROVE: Any = require_scope("approve")
ANY_SCOPE: Any = require_scope("execute", "read", "approve", "admin")
