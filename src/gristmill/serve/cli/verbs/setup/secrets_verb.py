"""``gristmill secrets``: stores the secrets that the configuration refers to."""

import sys
from typing import Annotated

import typer

from gristmill.config.tree import load_config
from gristmill.errors import ConfigError, NotFound
from gristmill.runtime.open.open_secrets import list_named_secrets, open_secrets, split_secret_name
from gristmill.serve.cli.terminal.print_tables import print_table
from gristmill.serve.cli.terminal.safe_output import print_json, stderr, stdout
from gristmill.serve.cli.verb_options import ConfigFile, Json

MOST_CHARACTERS = 65_536

app = typer.Typer(no_args_is_help=True, help="Store, list and delete the secrets that the configuration refers to.")

Name = Annotated[str, typer.Argument(help="NAME or SERVICE/NAME; in the configuration ${keyring:SERVICE/NAME}.")]


@app.command("set")
def set_secret(name: Name, config: ConfigFile = None) -> None:
    """Store a secret in the keyring, or else in an encrypted file of the state folder. Asks for it; reads it from a pipe.

    Example: `pass show github | gristmill secrets set github/token`
    """
    service, entry = split_secret_name(name)
    secrets = open_secrets(load_config(config).state_dir)
    value = typer.prompt(f"{service}/{entry}", hide_input=True, err=True) if sys.stdin.isatty() else _read_piped_secret()
    secrets.write(service, entry, value)
    stdout().print(f"stored in {secrets.place}: refer to it as ${{keyring:{service}/{entry}}}")


@app.command("list")
def list_secrets(json: Json = False, config: ConfigFile = None) -> None:
    """List the secrets that servers of the configuration refer to, and whether each has a value. Values are never shown."""
    found = list_named_secrets(load_config(config))
    if json:
        print_json([{"reference": each.reference, "used_by": each.used_by, "is_set": each.is_set} for each in found])
        return
    print_table(
        ("reference", "used by", "state"), [(one.reference, one.used_by, "set" if one.is_set else "missing") for one in found]
    )
    if not found:
        stderr().print("no server refers to a secret")


@app.command("delete")
def delete_secret(name: Name, config: ConfigFile = None) -> None:
    """Delete a stored secret."""
    service, entry = split_secret_name(name)
    if not open_secrets(load_config(config).state_dir).forget(service, entry):
        raise NotFound(f"there is no secret {service}/{entry}")
    stdout().print(f"deleted {service}/{entry}")


def _read_piped_secret() -> str:
    value = sys.stdin.read(MOST_CHARACTERS + 1).strip("\r\n")
    if not value or len(value) > MOST_CHARACTERS:
        raise ConfigError(f"give the secret on standard input, at most {MOST_CHARACTERS:,} characters")
    return value
