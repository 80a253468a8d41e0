"""Clients of the HTTP service: ``Client`` for blocking code, ``AsyncClient`` for an event loop."""

from gristmill.http_client.async_client import AsyncClient
from gristmill.http_client.blocking_client import Client

__all__ = ["AsyncClient", "Client"]
