"""How each of HomeIQ's servers starts: options, the records they name, and then it speaks."""

from collections.abc import Callable

from examples.homeiq.stored import chosen_records
from examples.records import Records
from examples.serving import arguments, serve, server_of


def start(name: str, about: str, port: int, tools: Callable[[Callable[[], Records]], object]) -> None:
    """Serve what ``tools`` makes of the records, which are opened when it asks for them."""
    parser = arguments(about, port=port)
    parser.add_argument("--db", help="another database of the same form")
    chosen = parser.parse_args()
    try:
        made = tools(lambda: chosen_records(chosen.db))
    except ValueError as error:
        parser.error(str(error))
    serve(server_of(name, made), chosen.http)
