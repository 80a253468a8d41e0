"""A PostgreSQL for the examples' tests, one for all of a process."""

from collections.abc import Callable, Generator
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from tests.servers import postgres


@pytest.fixture(scope="session")
def new_database() -> Generator[Callable[[], str]]:
    """Addresses of empty databases."""
    with postgres.server() as server:

        def address(name: str) -> str:
            return f"postgresql://mill:{quote(postgres.PASSWORD, safe='')}@127.0.0.1:{server.port}/{name}"

        def made() -> str:
            name = f"d{uuid4().hex}"
            with psycopg.connect(address("postgres"), autocommit=True) as connection:
                connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
            return address(name)

        yield made
