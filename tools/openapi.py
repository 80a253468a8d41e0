"""Write the OpenAPI document, from which the dashboard's types are made; with ``--check`` only say whether it is up to date."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gristmill.config.tree import Config
from gristmill.serve.http.app import build_app
from gristmill.serve.http.http_door import open_door

FILE = Path(__file__).parents[1] / "dashboard" / "openapi.json"


def read_document() -> dict[str, Any]:
    """Return the document that the service itself gives at ``/openapi.json``, without starting it."""
    runtime: Any = SimpleNamespace(config=Config(), store=None, metrics=None, audit=SimpleNamespace(record=None))
    return build_app(open_door(runtime)).openapi()


def main() -> None:
    """Write or check."""
    text = json.dumps(read_document(), indent=1, ensure_ascii=False) + "\n"
    is_current = FILE.exists() and FILE.read_text() == text
    if "--check" not in sys.argv:
        FILE.write_text(text)
        print("the OpenAPI document is unchanged" if is_current else "wrote the OpenAPI document")
    elif not is_current:
        sys.exit("out of date: dashboard/openapi.json; run `make docs`")


if __name__ == "__main__":
    main()
