"""How each of HomeIQ's servers starts: options, the records they name, and then it speaks."""

from collections.abc import Callable

from examples.homeiq.stored import chosen_records
from examples.records import Records
from examples.serving import Listening, add_listening, arguments, read_listening, serve, server_of


def start(name: str, about: str, port: int, tools: Callable[[Callable[[], Records]], object]) -> None:
    """Serve what ``tools`` makes of the records, which are opened when it asks for them."""
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
        _serve_http(name, made, listening)


def _serve_http(name: str, tools: object, listening: Listening) -> None:
    # Only here: a start over stdio does not wait for FastAPI.
    from examples.http_service import build_app, serve_app

    serve_app(build_app(name, tools, listening.names), listening)
