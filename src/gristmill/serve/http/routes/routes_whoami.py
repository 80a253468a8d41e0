"""The route ``/whoami``: the caller that the service sees in a token, or in a request without one from this machine."""

from typing import Annotated

from fastapi import APIRouter

from gristmill import __version__
from gristmill.serve.access_tokens import SCOPES, Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import ANY_SCOPE
from gristmill.serve.http.shapes.api_shapes import WhoView


def add_whoami(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the route that tells callers who they are."""

    @routes.get("/whoami", tags=["health"])
    async def whoami(who: Annotated[Principal, ANY_SCOPE]) -> WhoView:
        """Returns who you are for the service, and what you may do."""
        return WhoView(
            name=who.name, tenant=who.tenant, caller=who.identity.caller,
            scopes=[scope for scope in SCOPES if scope in who.scopes], is_operator=who.is_operator,
            version=__version__, isolation=door.runtime.isolation,
        )  # fmt: skip
