"""``/whoami``: what the service makes of a token, or of nobody's on this machine."""

from typing import Annotated

from fastapi import APIRouter

from gristmill import __version__
from gristmill.serve.access_tokens import SCOPES, Principal
from gristmill.serve.http.api_shapes import WhoView
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.require_scopes import ASKED


def add_who(routes: APIRouter, door: Door) -> None:
    """The route that tells callers who they are."""

    @routes.get("/whoami", tags=["health"])
    async def whoami(who: Annotated[Principal, ASKED]) -> WhoView:
        """Who you are to the service, and what you may do."""
        return WhoView(
            name=who.name, tenant=who.tenant, caller=who.caller, scopes=[scope for scope in SCOPES if scope in who.scopes],
            is_operator=who.is_operator, version=__version__, isolation=door.runtime.isolation,
        )  # fmt: skip
