"""What a route requires of whoever asks."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from gristmill.config.sections.serve_section import Scope
from gristmill.errors import Error, Refused, Unauthorized
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import Door

AGAIN_SECONDS = 1.0
"""How often, at most, whoever listens is verified again."""


def needs(*scopes: Scope) -> Any:
    """The verified caller, who has one of ``scopes``."""

    async def check(request: Request) -> Principal:
        who: Principal = request.state.who
        who.needs(*scopes)
        return who

    return Depends(check)


async def _operator(request: Request) -> Principal:
    who: Principal = request.state.who
    who.needs("admin")
    if not who.is_operator:
        raise Refused("this tells of all tenants: it is for admins of the tenant local", rule="operator")
    return who


class StillKnown:
    """Whether whoever began to listen still may: a token that is revoked, or runs out, opens no stream any longer either."""

    def __init__(self, door: Door, connection: HTTPConnection) -> None:
        self._door, self._connection = door, connection
        self._verified = time.monotonic()

    async def __call__(self) -> bool:
        """Ask again, now and then."""
        now = time.monotonic()
        if now - self._verified < AGAIN_SECONDS:
            return True
        self._verified = now
        try:
            return await self._door.authenticate(self._connection) is not None
        except Unauthorized:
            return False
        except Error:
            return True  # the store or the provider is away: what they said last holds


Check = Callable[[Request], Awaitable[Principal]]
OPERATOR: Any = Depends(_operator)
"""The admin of the whole service: what he sees is not one tenant's."""
EXECUTE: Any = needs("execute")
SEE: Any = needs("execute", "read", "admin")
READ: Any = needs("read", "admin")
APPROVE: Any = needs("approve")
ASKED: Any = needs("execute", "read", "approve", "admin")
