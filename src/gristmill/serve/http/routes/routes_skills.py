"""Routes of ``/skills``, functions that code saved: to read and delete them. Only code saves skills, where they are tested."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from gristmill.errors import UnknownSkill
from gristmill.runtime.values.skill_values import Level, Skill, SkillScope, SkillSummary, diff_skills
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import EXECUTE, EXECUTE_OR_READ
from gristmill.serve.http.routes.routes_sessions import find_session
from gristmill.serve.http.shapes.api_shapes import SkillDiffView, SkillView

SkillName = Annotated[str, Path(min_length=1, max_length=200)]
InSession = Annotated[str | None, Query(max_length=128, description="Include the skills of this session.")]


def add_skills(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes of skills."""

    async def build_scope(who: Principal, session: str | None) -> SkillScope:
        handle = (await find_session(door, who, session)).handle if session else None
        return SkillScope(identity=who.identity, session=handle)

    def mask_text(who: Principal, text: str) -> str:
        return text if "reveal" in who.scopes else door.runtime.content_masks.mask_source(text, who.identity)

    @routes.get("/skills", tags=["skills"])
    async def skills(who: Annotated[Principal, EXECUTE_OR_READ], session: InSession = None) -> list[SkillView]:
        """Lists the newest version of every skill that you may use."""
        return [_build_view(skill) for skill in await door.runtime.session_stores.skills.list(await build_scope(who, session))]

    @routes.get("/skills/{name}", tags=["skills"])
    async def skill(
        name: SkillName,
        who: Annotated[Principal, EXECUTE_OR_READ],
        session: InSession = None,
        version: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    ) -> SkillView:
        """Returns one skill with its source, masked unless you have the scope `reveal`: the newest version, or the given one."""
        scope = await build_scope(who, session)
        found = await door.runtime.session_stores.skills.load(name, scope, version)
        versions = [each.version for each in await door.runtime.session_stores.skills.versions(name, scope)]
        source, tests = mask_text(who, found.source), found.tests and mask_text(who, found.tests)
        return _build_view(found).model_copy(update={"source": source, "tests": tests, "versions": versions})

    @routes.get("/skills/{name}/diff", tags=["skills"])
    async def compare(
        name: SkillName,
        who: Annotated[Principal, EXECUTE_OR_READ],
        old: Annotated[int, Query(ge=1, le=1_000_000)],
        new: Annotated[int, Query(ge=1, le=1_000_000)],
        session: InSession = None,
    ) -> SkillDiffView:
        """Compares two versions of a skill: source, tests and requirements."""
        scope, kept = await build_scope(who, session), door.runtime.session_stores.skills
        before, after = await kept.load(name, scope, old), await kept.load(name, scope, new)
        return SkillDiffView(name=name, old=old, new=new, diff=mask_text(who, diff_skills(before, after)))

    @routes.delete("/skills/{name}", status_code=204, tags=["skills"])
    async def delete(
        name: SkillName, who: Annotated[Principal, EXECUTE], level: Level = "user", session: InSession = None
    ) -> Response:
        """Deletes every version of a skill; only an admin may delete a shared one."""
        if level == "shared":
            who.require_scope("admin")
        if not await door.runtime.session_stores.skills.delete(name, await build_scope(who, session), level):
            raise UnknownSkill(f"there is no skill {name[:80]!r} with the level {level}")
        return Response(status_code=204)


def _build_view(skill: Skill | SkillSummary) -> SkillView:
    return SkillView(
        name=skill.name, level=skill.level, version=skill.version, caller=skill.caller, created=skill.created, hash=skill.hash,
        tested=skill.tested, requires=list(skill.requires),
    )  # fmt: skip
