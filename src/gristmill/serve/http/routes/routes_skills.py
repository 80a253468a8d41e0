"""``/skills``: functions that code saved. Saving is done in code, where they are tested; here they are seen and deleted."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from gristmill.errors import UnknownSkill
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import SkillDiffView, SkillView
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.require_scopes import EXECUTE, SEE
from gristmill.serve.http.routes.routes_sessions import find_session
from gristmill.session.skills.skill import Level, Scope, Skill, diff

SkillName = Annotated[str, Path(min_length=1, max_length=200)]
InSession = Annotated[str | None, Query(max_length=128, description="Those of this session too.")]


def add_skills(routes: APIRouter, door: Door) -> None:
    """The routes of skills."""

    async def scope_of(who: Principal, session: str | None) -> Scope:
        handle = (await find_session(door, who, session)).handle if session else None
        return Scope(tenant=who.tenant, caller=who.caller, session=handle)

    @routes.get("/skills", tags=["skills"])
    async def skills(who: Annotated[Principal, SEE], session: InSession = None) -> list[SkillView]:
        """The newest version of every skill in your sight."""
        return [_view(skill) for skill in await door.runtime.keeping.skills.list(await scope_of(who, session))]

    @routes.get("/skills/{name}", tags=["skills"])
    async def skill(
        name: SkillName,
        who: Annotated[Principal, SEE],
        session: InSession = None,
        version: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    ) -> SkillView:
        """One skill with its source; the newest, or the version asked for."""
        scope = await scope_of(who, session)
        found = await door.runtime.keeping.skills.load(name, scope, version)
        versions = [each.version for each in await door.runtime.keeping.skills.versions(name, scope)]
        return _view(found).model_copy(update={"source": found.source, "tests": found.tests, "versions": versions})

    @routes.get("/skills/{name}/diff", tags=["skills"])
    async def compare(
        name: SkillName,
        who: Annotated[Principal, SEE],
        old: Annotated[int, Query(ge=1, le=1_000_000)],
        new: Annotated[int, Query(ge=1, le=1_000_000)],
        session: InSession = None,
    ) -> SkillDiffView:
        """What changed from one version to another: source, tests and requirements."""
        scope, kept = await scope_of(who, session), door.runtime.keeping.skills
        before, after = await kept.load(name, scope, old), await kept.load(name, scope, new)
        return SkillDiffView(name=name, old=old, new=new, diff=diff(before, after))

    @routes.delete("/skills/{name}", status_code=204, tags=["skills"])
    async def delete(
        name: SkillName, who: Annotated[Principal, EXECUTE], level: Level = "user", session: InSession = None
    ) -> Response:
        """Forget every version of a skill; shared ones only by an admin."""
        if level == "shared":
            who.needs("admin")
        if not await door.runtime.keeping.skills.delete(name, await scope_of(who, session), level):
            raise UnknownSkill(f"there is no skill {name[:80]!r} of the level {level}")
        return Response(status_code=204)


def _view(skill: Skill) -> SkillView:
    return SkillView(
        name=skill.name, level=skill.level, version=skill.version, caller=skill.caller, created=skill.created, hash=skill.hash,
        tested=skill.tested, requires=list(skill.requires),
    )  # fmt: skip
