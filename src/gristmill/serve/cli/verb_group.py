"""The help page: verbs in groups, first steps at the end. Plain text, since the library for boxes takes longer than the page."""

from typing import Any

from typer.core import TyperGroup

EPILOG = """\
First steps:
  gristmill init                  take over the servers that your MCP clients have
  gristmill doctor                check the sandbox, the configuration and every server
  gristmill install claude-code   make a client use Gristmill (--dry-run shows the change)

`gristmill VERB --help` tells more about each."""


class GroupedHelp(TyperGroup):
    """Lists verbs under the heading that each was given (``rich_help_panel``), in the order in which they were added."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write one section per heading."""
        sections: dict[str, list[tuple[str, str]]] = {}
        width = max((len(name) for name in self.commands), default=0)
        for name, command in self.commands.items():
            if not command.hidden:
                heading = getattr(command, "rich_help_panel", None)
                title = heading if isinstance(heading, str) else "Verbs"
                row = (name.ljust(width), command.get_short_help_str(300))
                sections.setdefault(title, []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the last words as they are, line by line."""
        if self.epilog:
            formatter.write_paragraph()
            for line in self.epilog.splitlines():
                formatter.write(f"{line}\n")
