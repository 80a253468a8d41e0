"""``gristmill skills``: shows, compares, exports, imports and deletes saved functions. It never runs them."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gristmill.config.tree import load_config
from gristmill.errors import UnknownSkill
from gristmill.model import LOCAL, Identity
from gristmill.runtime.open.mask_offline import mask_skill
from gristmill.runtime.open.session_stores import (
    SessionStores,
    SkillScope,
    make_skill_row,
    open_session_stores,
)
from gristmill.runtime.values.skill_values import diff_skills, export_skill, import_skill
from gristmill.serve.cli.terminal.print_tables import Column, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stdout
from gristmill.serve.cli.use_opened import use_opened
from gristmill.serve.cli.verb_options import ConfigFile, Json, Tenant

app = typer.Typer(
    help="Show, export, import and delete the functions that programs saved. Never runs them.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="The skill's name.")]
Caller = Annotated[str, typer.Option(help="The user who owns the skills.")]
InSession = Annotated[str | None, typer.Option("--session", help="Include the skills of this session.")]
Level = Literal["session", "user", "shared"]


@app.command("list")
def list_(
    session: InSession = None, caller: Caller = LOCAL, tenant: Tenant = LOCAL, json: Json = False, config: ConfigFile = None
) -> None:
    """List the skills of the user, the shared ones, and with `--session` those of a session."""

    async def load_rows(stores: SessionStores) -> list[dict[str, Any]]:
        scope = await _find_scope(stores, session, identity=Identity(tenant=tenant, caller=caller))
        return [make_skill_row(skill) for skill in await stores.skills.list(scope)]

    found = use_opened(open_session_stores, config, load_rows)
    if json:
        print_json(found)
        return
    shown = [
        (
            row["name"],
            str(row["version"]),
            row["level"],
            "yes" if row["tested"] else "no",
            ", ".join(row["requires"]),
            _first_line(row),
        )
        for row in found
    ]
    columns = (
        Column(title="skill"), Column(title="version", kind="number", leave=2), Column(title="level", kind="fixed"),
        Column(title="tested", kind="fixed", leave=3), Column(title="requires", leave=1), Column(title="what it does"),
    )  # fmt: skip
    print_table(columns, shown)


@app.command()
def show(
    name: Name,
    version: Annotated[int | None, typer.Option(help="An older version.")] = None,
    session: InSession = None,
    caller: Caller = LOCAL,
    real: Annotated[bool, typer.Option("--real", help="With real values: by default personal data is masked.")] = False,
    tenant: Tenant = LOCAL,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show a skill's source."""

    async def load(stores: SessionStores) -> Any:
        scope = await _find_scope(stores, session, identity=Identity(tenant=tenant, caller=caller))
        return await stores.skills.load(name, scope, version)

    skill = use_opened(open_session_stores, config, load)
    if not real:
        skill = mask_skill(load_config(config), skill)
    if json:
        print_json({**make_skill_row(skill), "source": skill.source, "tests": skill.tests})
        return
    about = f"# {skill.key} version {skill.version}, level {skill.level}, sha256 {skill.hash}"
    stdout().print(neutralize_text(f"{about}\n\n{skill.source}"))
    if skill.tests:
        stdout().print(neutralize_text(f"\n# tests\n{skill.tests}"))


@app.command()
def diff(
    name: Name,
    old: Annotated[int, typer.Argument(help="The older version.")],
    new: Annotated[int | None, typer.Argument(help="The newer version; default is the newest.")] = None,
    session: InSession = None,
    caller: Caller = LOCAL,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Show what changed between two versions of a skill."""

    async def compare(stores: SessionStores) -> str:
        scope = await _find_scope(stores, session, identity=Identity(tenant=tenant, caller=caller))
        return diff_skills(await stores.skills.load(name, scope, old), await stores.skills.load(name, scope, new))

    stdout().print(neutralize_text(use_opened(open_session_stores, config, compare)))


@app.command()
def export(
    name: Name,
    folder: Annotated[Path, typer.Argument(help="Folder to write it into; default is the current one.")] = Path(),
    version: Annotated[int | None, typer.Option(help="An older version.")] = None,
    session: InSession = None,
    caller: Caller = LOCAL,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Write a skill into a new folder named after it: SKILL.md, skill.py, tests.py."""

    async def write(stores: SessionStores) -> Path:
        scope = await _find_scope(stores, session, identity=Identity(tenant=tenant, caller=caller))
        return export_skill(await stores.skills.load(name, scope, version), folder)

    stdout().print(str(use_opened(open_session_stores, config, write)))


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="A folder written by `gristmill skills export`.")],
    level: Annotated[Level, typer.Option(help="Who can find it: this session, the user, or everyone in the tenant.")] = "user",
    session: InSession = None,
    caller: Caller = LOCAL,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Save a skill from a folder if its content matches its hash. Read it first; nothing in it is run here."""

    async def save(stores: SessionStores) -> Any:
        scope = await _find_scope(stores, session, identity=Identity(tenant=tenant, caller=caller))
        return await stores.skills.save(import_skill(folder), scope, level)

    saved = use_opened(open_session_stores, config, save)
    stdout().print(f"{saved.key} version {saved.version}")


@app.command()
def delete(
    name: Name,
    level: Annotated[Level, typer.Option(help="The level to delete it from.")] = "user",
    session: InSession = None,
    caller: Caller = LOCAL,
    tenant: Tenant = LOCAL,
    config: ConfigFile = None,
) -> None:
    """Delete all versions of a skill."""

    async def remove(stores: SessionStores) -> int:
        scope = await _find_scope(stores, session, identity=Identity(tenant=tenant, caller=caller))
        return await stores.skills.delete(name, scope, level)

    if not use_opened(open_session_stores, config, remove):
        raise UnknownSkill(f"there is no skill {name!r} of level {level}: see `gristmill skills list`")


async def _find_scope(stores: SessionStores, session: str | None, *, identity: Identity) -> SkillScope:
    handle = (await stores.sessions.find_by_name(session, identity=identity, whole_tenant=True)).handle if session else None
    return SkillScope(identity=identity, session=handle)


def _first_line(row: dict[str, Any]) -> str:
    return str(row["description"]).partition("\n")[0][:100]
