"""The root command: it lists every verb from the table of verbs, and imports the module of a verb when the verb is used."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from gristmill.serve.cli.verb_table import VERBS, Verb

EPILOG = """\
First steps:
  gristmill init                  copy the MCP servers of your clients into gristmill.toml
  gristmill doctor                check the sandbox, the configuration and every server
  gristmill install claude-code   make a client use Gristmill (--dry-run shows the change)

`gristmill VERB --help` explains one verb."""


class VerbCommands(Mapping[str, Any]):
    """The commands of all verbs by name; a command is built when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        for verb in VERBS:
            if verb.name == name:
                return build_command(verb)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter([verb.name for verb in VERBS])

    def __len__(self) -> int:
        return len(VERBS)


def build_command(verb: Verb) -> Any:
    """Imports the module of ``verb`` and builds its command."""
    module: Any = import_module(f"gristmill.serve.cli.verbs.{verb.module}")
    parent = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    if verb.function is None:
        parent.add_typer(module.app, name=verb.name)
    else:
        parent.command(verb.name)(getattr(module, verb.function))
    return typer.main.get_group(parent).commands[verb.name]


class VerbGroup(TyperGroup):
    """The root command. Its help is plain text with the verbs under their headings; rich would take longer to import."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = VerbCommands()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Returns the names of all verbs."""
        return list(self.commands)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Completes the name of a verb from the table, without importing the verbs."""
        self.commands = {verb.name: TyperCommand(verb.name, help=verb.summary) for verb in VERBS}
        return super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Writes one section per heading."""
        width = max(len(verb.name) for verb in VERBS)
        for heading, verbs in groupby(VERBS, attrgetter("heading")):
            with formatter.section(heading):
                formatter.write_dl([(verb.name.ljust(width), verb.summary) for verb in verbs])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Writes the text after the verbs, line by line, without wrapping it."""
        if self.epilog:
            formatter.write_paragraph()
            for line in self.epilog.splitlines():
                formatter.write(f"{line}\n")
