"""``gristmill skills``: the functions that code has saved. They are shown, carried and deleted here, never run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gristmill.serve.cli.terminal.print_tables import LOCAL, Json, Tenant, print_table, with_keeping
from gristmill.serve.cli.verbs.use.run import ConfigFile

if TYPE_CHECKING:
    from gristmill.runtime.open.session_stores import Keeping, Scope

app = typer.Typer(help="The functions that code has saved. They are never run here.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The skill's name.")]
Caller = Annotated[str, typer.Option(help="The user whose skills are meant.")]
InSession = Annotated[str | None, typer.Option("--session", help="Also the skills of this session.")]
Level = Literal["session", "user", "shared"]


@app.command("list")
def list_(
    session: InSession = None, caller: Caller = LOCAL, tenant: Tenant = LOCAL, json: Json = False, config: ConfigFile = None
) -> None:
    """Show the skills in sight: those of the user, those shared, and with `--session` those of a session."""
    from gristmill.runtime.open.session_stores import skill_row
    from gristmill.serve.cli.terminal.safe_output import print_json

    async def rows(keeping: "Keeping") -> list[dict[str, Any]]:
        scope = await _scope(keeping, tenant, caller, session)
        return [skill_row(skill) for skill in await keeping.skills.list(scope)]

    found = with_keeping(config, rows)
    if json:
        print_json(found)
        return
    shown = [
        (row["name"], str(row["version"]), row["level"], "yes" if row["tested"] else "no", ", ".join(row["requires"]), _line(row))
        for row in found
    ]
    print_table(("skill", "version", "level", "tested", "requires", "what it does"), shown)


@app.command()
def show(
    name: Name,
    version: Annotated[int | None, typer.Option(help="An older version.")] = None,
    session: InSession = None,
    caller: Caller = LOCAL,
    tenant: Tenant = LOCAL,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show a skill's source."""
    from gristmill.runtime.open.session_stores import skill_row
    from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stdout

    async def load(keeping: "Keeping") -> Any:
        return await keeping.skills.load(name, await _scope(keeping, tenant, caller, session), version)

    skill = with_keeping(config, load)
    if json:
        print_json({**skill_row(skill), "source": skill.source, "tests": skill.tests})
        return
    about = f"# {skill.key} version {skill.version}, level {skill.level}, sha256 {skill.hash}"
    stdout().print(harmless(f"{about}\n\n{skill.source}"), markup=False)
    if skill.tests:
        stdout().print(harmless(f"\n# tests\n{skill.tests}"), markup=False)


@app.command()
def diff(
    name: Name,
    old: Annotated[int, typer.Argument(help="The version before.")],
    new: Annotated[int | None, typer.Argument(help="The version after; the newest if left out.")] = None,
    session: InSession = None,
    caller: Caller = LOCAL,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Show what changed between two versions of a skill."""
    from gristmill.runtime.open.session_stores import skill_diff
    from gristmill.serve.cli.terminal.safe_output import harmless, stdout

    async def compare(keeping: "Keeping") -> str:
        scope = await _scope(keeping, tenant, caller, session)
        return skill_diff(await keeping.skills.load(name, scope, old), await keeping.skills.load(name, scope, new))

    stdout().print(harmless(with_keeping(config, compare)), markup=False)


@app.command()
def export(
    name: Name,
    folder: Annotated[Path, typer.Argument(help="Where its folder is made.")] = Path(),
    version: Annotated[int | None, typer.Option(help="An older version.")] = None,
    session: InSession = None,
    caller: Caller = LOCAL,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Write a skill to a folder of its name: SKILL.md, skill.py, tests.py."""
    from gristmill.runtime.open.session_stores import export_skill
    from gristmill.serve.cli.terminal.safe_output import stdout

    async def write(keeping: "Keeping") -> Path:
        return export_skill(await keeping.skills.load(name, await _scope(keeping, tenant, caller, session), version), folder)

    stdout().print(str(with_keeping(config, write)), markup=False)


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="A folder that `skills export` made.")],
    level: Annotated[Level, typer.Option(help="Who finds it.")] = "user",
    session: InSession = None,
    caller: Caller = LOCAL,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Save a skill from a folder, if its content is what its hash says. Read it first: nothing of it is run here."""
    from gristmill.runtime.open.session_stores import import_skill
    from gristmill.serve.cli.terminal.safe_output import stdout

    async def save(keeping: "Keeping") -> Any:
        return await keeping.skills.save(import_skill(folder), await _scope(keeping, tenant, caller, session), level)

    saved = with_keeping(config, save)
    stdout().print(f"{saved.key} version {saved.version}", markup=False)


@app.command()
def delete(
    name: Name,
    level: Annotated[Level, typer.Option(help="Of which level.")] = "user",
    session: InSession = None,
    caller: Caller = LOCAL,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Delete a skill in all its versions."""
    from gristmill.errors import UnknownSkill

    async def remove(keeping: "Keeping") -> int:
        return await keeping.skills.delete(name, await _scope(keeping, tenant, caller, session), level)

    if not with_keeping(config, remove):
        raise UnknownSkill(f"there is no skill {name!r} of level {level}")


async def _scope(keeping: "Keeping", tenant: str, caller: str, session: str | None) -> "Scope":
    from gristmill.runtime.open.session_stores import Scope

    handle = (await keeping.sessions.named(session, tenant)).handle if session else None
    return Scope(tenant=tenant, caller=caller, session=handle)


def _line(row: dict[str, Any]) -> str:
    return str(row["description"]).partition("\n")[0][:100]
