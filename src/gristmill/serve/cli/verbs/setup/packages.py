"""``gristmill packages``: installs the packages that programs in the sandbox may import."""

import typer

from gristmill.config.tree import load_config
from gristmill.runtime.open.sandboxes.configured_packages import install_configured_packages
from gristmill.serve.cli.terminal.safe_output import stderr, style_parts
from gristmill.serve.cli.verb_options import ConfigFile

app = typer.Typer(no_args_is_help=True, help="Install the packages that programs may import (`sandbox.packages`).")


@app.command()
def install(config: ConfigFile = None) -> None:
    """Install the packages of `sandbox.packages` with pip, into a folder that only Gristmill uses. Skips what is installed."""
    settings = load_config(config)
    if not settings.sandbox.packages:
        stderr().print('nothing to install: set sandbox.packages in gristmill.toml, such as packages = ["pandas"]')
        return
    with stderr().status(f"installing {', '.join(settings.sandbox.packages)}"):
        folder = install_configured_packages(settings)
    stderr().print(style_parts(("ready", "green"), f" {', '.join(settings.sandbox.packages)} in {folder}"))
