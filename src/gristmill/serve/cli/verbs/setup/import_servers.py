"""``gristmill import``: copies the servers of another MCP client into our configuration."""

from pathlib import Path
from typing import Annotated

import typer

from gristmill.mcp_configs.merge_servers import import_client_file
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stderr, stdout
from gristmill.serve.cli.verb_options import ConfigFile


def import_servers(
    file: Annotated[Path, typer.Argument(help="The client's configuration: JSON, JSON with comments, TOML or YAML.")],
    project: Annotated[str | None, typer.Option(help="Also import Claude Code's servers for this folder.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite servers that already exist.")] = False,
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Take secrets from the keyring, not from environment variables.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Copy the servers of another client into gristmill.toml: Claude, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Zed or Goose.

    Comments in gristmill.toml stay. Secrets in plain text are not copied: they become references such as `${env:NAME}`, and you
    are told what to set. Example: `gristmill import ~/.cursor/mcp.json --dry-run`
    """
    done = import_client_file(
        file, config or Path("gristmill.toml"), project=project, replace=replace, keyring=keyring, write=not dry_run
    )
    if json:
        print_json({
            "added": list(done.added), "replaced": list(done.replaced), "skipped": list(done.skipped),
            "secrets": [{"server": each.server, "key": each.key, "reference": each.reference} for each in done.secrets],
            "diff": done.diff, "written": not dry_run and bool(done.diff),
        })  # fmt: skip
        return
    if dry_run and done.diff:
        stdout().print(neutralize_text(done.diff))
    for line in done.lines():
        stderr().print(neutralize_text(line))
