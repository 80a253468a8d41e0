"""``gristmill import``: the servers of another client become servers of ours."""

from pathlib import Path
from typing import Annotated

import typer

from gristmill.serve.cli.verbs.use.run import ConfigFile


def import_servers(
    file: Annotated[Path, typer.Argument(help="The client's configuration: JSON, JSON with comments, TOML or YAML.")],
    project: Annotated[str | None, typer.Option(help="Also take Claude Code's servers for this folder.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite servers that are there already.")] = False,
    keyring: Annotated[bool, typer.Option("--keyring", help="Refer to the keyring for secrets, not to the environment.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Take over the servers of another client: Claude, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Zed or Goose.

    They are added to gristmill.toml, whose comments stay. Secrets in plain text are not copied: a reference stands in their
    place, and you are told where to put them. Example: `gristmill import ~/.cursor/mcp.json --dry-run`
    """
    from gristmill.mcp_configs.merge_servers import import_client
    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stderr, stdout

    done = import_client(
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
        stdout().print(harmless(done.diff), markup=False)
    for line in done.lines():
        stderr().print(harmless(line), markup=False)
