"""Options that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Configuration file; default is ./gristmill.toml if it exists, over your own."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Tenant = Annotated[str, typer.Option(help="The tenant that owns it; `local` if you have set up no tenants.")]
WaitOption = Annotated[float, typer.Option(help="Seconds to wait for servers that were never listed before.", min=0)]
WAIT_SECONDS = 30.0
"""The default of ``WaitOption``."""
