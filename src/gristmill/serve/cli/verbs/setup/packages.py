"""``gristmill packages``: the packages that code may import."""

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile

app = typer.Typer(no_args_is_help=True, help="The packages that code may import (`sandbox.packages`).")


@app.command()
def install(config: ConfigFile = None) -> None:
    """Install what `sandbox.packages` lists into a folder of Gristmill's own, with your pip. Does nothing when it is there."""
    from gristmill.config.tree import load_config
    from gristmill.sandbox import managed_packages as packages
    from gristmill.serve.cli.terminal.safe_output import stderr

    settings = load_config(config)
    if not settings.sandbox.packages:
        stderr().print('nothing to install: sandbox.packages is empty (try packages = ["pandas"] under [sandbox])')
        return
    with stderr().status(f"installing {', '.join(settings.sandbox.packages)}"):
        folder = packages.install(settings.sandbox.packages, settings.state_dir)
    stderr().print(f"[green]ready[/] {', '.join(settings.sandbox.packages)} in {folder}")
