"""How each of HomeIQ's servers starts: options, the records they name, and then it speaks."""

from collections.abc import Callable
from typing import Any

from examples.homeiq.stored import chosen_records
from examples.records import Records
from examples.serving import Listening, add_listening, arguments, read_listening, serve, server_of


def start(
    name: str, about: str, port: int, tools: Callable[[Callable[[], Records]], object],
    *, make_router: Callable[[object], Any] | None = None,
) -> None:  # fmt: skip
    """Serve what ``tools`` makes of the records, which are opened when it asks for them; HTTP has more routes with a router."""
    parser = arguments(about, port=port)
    parser.add_argument("--db", help="another database of the same form")
    add_listening(parser)
    chosen = parser.parse_args()
    try:
        made = tools(lambda: chosen_records(chosen.db))
    except ValueError as error:
        parser.error(str(error))
    listening = read_listening(chosen)
    if listening is None:
        serve(server_of(name, made), None)
    else:
        _serve_http(name, made, listening, make_router)


def _serve_http(name: str, tools: object, listening: Listening, make_router: Callable[[object], Any] | None) -> None:
    # Only here: a start over stdio does not wait for FastAPI.
    from examples.http_service import build_app, serve_app

    routers = [make_router(tools)] if make_router else []
    serve_app(build_app(name, tools, listening.names, routers), listening)
