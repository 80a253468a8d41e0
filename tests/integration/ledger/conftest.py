"""The ledger on both stores."""

from tests.integration.store.conftest import anyio_backend, place, postgres_server, postgres_url

__all__ = ["anyio_backend", "place", "postgres_server", "postgres_url"]
