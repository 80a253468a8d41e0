"""``gristmill import``: copies the servers of another MCP client into our configuration."""

from pathlib import Path
from typing import Annotated

import typer

from gristmill.config.sources import DEFAULT_FILE
from gristmill.config.tree import load_config
from gristmill.mcp_configs.merge_servers import find_stored, merge_servers, read_client_file
from gristmill.runtime.open.open_secrets import open_secrets
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stderr, stdout
from gristmill.serve.cli.verb_options import ConfigFile


def import_servers(
    file: Annotated[Path, typer.Argument(help="The client's configuration: JSON, JSON with comments, TOML or YAML.")],
    project: Annotated[str | None, typer.Option(help="Also import Claude Code's servers for this folder.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite servers that already exist.")] = False,
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Store secrets in the keyring (or else encrypted), not in environment variables.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Copy the servers of another client into gristmill.toml: Claude, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Zed or Goose.

    Comments in gristmill.toml stay. Secrets in plain text are not copied: they become references such as `${env:NAME}`, and you
    are told what to set. Example: `gristmill import ~/.cursor/mcp.json --dry-run`
    """
    found, target = read_client_file(file, project=project), config or Path(DEFAULT_FILE)
    done = merge_servers(found, target, replace=replace, keyring=keyring, write=not dry_run)
    if not dry_run:
        for secret in find_stored(found.secrets, done):
            open_secrets(load_config(target).state_dir).write(secret.service, secret.name, secret.value)
    if json:
        print_json({
            "added": list(done.added), "replaced": list(done.replaced), "skipped": list(done.skipped), "notes": list(done.notes),
            "secrets": [{"server": each.server, "key": each.key, "reference": each.reference} for each in done.secrets],
            "diff": done.diff, "written": not dry_run and bool(done.diff),
        })  # fmt: skip
        return
    if dry_run and done.diff:
        stdout().print(neutralize_text(done.diff))
    for line in done.lines(stored=not dry_run):
        stderr().print(neutralize_text(line))
