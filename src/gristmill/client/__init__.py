"""The client of the HTTP service: ``Client`` for ordinary code, ``AsyncClient`` for an event loop."""

from gristmill.client.asynchronous import AsyncClient
from gristmill.client.blocking import Client

__all__ = ["AsyncClient", "Client"]
