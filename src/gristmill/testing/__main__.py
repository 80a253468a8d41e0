"""``python -m gristmill.testing SCRIPT``: serves a scripted model until it is stopped."""

from argparse import ArgumentParser
from pathlib import Path
from threading import Event

from gristmill.errors import Error
from gristmill.testing.model_scripts import read_model_script
from gristmill.testing.model_server import ModelServer


def serve_script() -> None:
    """Serves the answers of a file to clients of OpenAI and Anthropic on this machine."""
    parser = ArgumentParser(prog="python -m gristmill.testing", description=serve_script.__doc__)
    parser.add_argument("script", type=Path, help="a JSON file: questions, each with its answers")
    parser.add_argument("--port", type=int, default=0, help="the port; a free one if it is not given")
    options = parser.parse_args()
    try:
        script = read_model_script(options.script)
    except Error as error:
        parser.error(error.message)
    with ModelServer(script, port=options.port) as model:
        print(f"openai: {model.openai_url}\nanthropic: {model.url}", flush=True)
        try:
            Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    serve_script()
