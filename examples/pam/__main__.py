"""``python -m examples.pam --user 7``: the server, over stdio or HTTP."""

import argparse
import functools
import os
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from mcp.server.mcpserver import MCPServer

from examples.pam.days import Days
from examples.pam.expenses import Expenses
from examples.pam.fuel import Fuel
from examples.pam.owners import only_for
from examples.pam.parks import Parks
from examples.pam.stored import Stored, open_postgres, open_sqlite
from examples.pam.trips import Trips
from examples.serving import arguments, serve, server_of

PORT = 8047
URL = "PAM_DATABASE_URL"


def server(path: Path | None = None, *, users: Collection[int] | None = None) -> MCPServer:
    """The server for ``users`` (``None``: for everybody) over generated records, in memory or kept at ``path``."""
    return server_over(open_sqlite(path), users=users)


def server_over(stored: Stored, *, users: Collection[int] | None = None) -> MCPServer:
    """The server over opened records."""
    groups = (*(group(stored.records) for group in (Expenses, Trips, Parks, Fuel, Days)), stored.sql)
    return server_of("pam", *groups, guard=functools.partial(only_for, users))


def options() -> argparse.ArgumentParser:
    """The command line; a server that nobody said whom it is for does not start."""
    parser = arguments("PAM, a travel assistant's tool server", port=PORT)
    parser.add_argument("--db", type=Path, help="keep what is written in this file; without it all is gone with the process")
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("--user", type=int, action="append", metavar="ID", help="answer for this user; may be repeated")
    whose.add_argument("--every-user", action="store_true", help="answer for everybody: the gateway binds its callers")
    return parser


if __name__ == "__main__":
    parser = options()
    chosen = parser.parse_args()
    address = os.environ.get(URL)
    try:
        stored = open_postgres(address) if address else open_sqlite(chosen.db)
    except ValueError as error:
        parser.error(f"{URL}: {error}")
    with closing(stored.records.database):
        serve(server_over(stored, users=None if chosen.every_user else frozenset(chosen.user)), chosen.http)
