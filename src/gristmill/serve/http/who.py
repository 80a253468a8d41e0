"""What a route requires of whoever asks."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Depends, Request

from gristmill.config_serve import Scope
from gristmill.errors import Refused
from gristmill.serve.auth import Principal


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


Check = Callable[[Request], Awaitable[Principal]]
OPERATOR: Any = Depends(_operator)
"""The admin of the whole service: what he sees is not one tenant's."""
EXECUTE: Any = needs("execute")
SEE: Any = needs("execute", "read", "admin")
READ: Any = needs("read", "admin")
APPROVE: Any = needs("approve")
ASKED: Any = needs("execute", "read", "approve", "admin")
