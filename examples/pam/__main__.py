"""``python -m examples.pam``: the server, over stdio or HTTP."""

from pathlib import Path

from mcp.server.mcpserver import MCPServer

from examples.pam.days import Days
from examples.pam.expenses import Expenses
from examples.pam.fuel import Fuel
from examples.pam.parks import Parks
from examples.pam.seed import build
from examples.pam.sql import Sql
from examples.pam.trips import Trips
from examples.records import Records, open_copy
from examples.serving import arguments, serve, server_of

PORT = 8047


def server(path: Path | None = None) -> MCPServer:
    """The server over generated records, in memory or kept at ``path``."""
    records = Records(open_copy(build, path))
    return server_of("pam", *(group(records) for group in (Expenses, Trips, Parks, Fuel, Days, Sql)))


if __name__ == "__main__":
    parser = arguments("PAM, a travel assistant's tool server", port=PORT)
    parser.add_argument("--db", type=Path, help="keep what is written in this file; without it all is gone with the process")
    chosen = parser.parse_args()
    serve(server(chosen.db), chosen.http)
