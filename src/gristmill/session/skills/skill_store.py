"""Stores skills: versioned, addressed by their content, sealed against changes, never run on the host."""

import difflib
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from gristmill.errors import LimitExceeded, Refused, UnknownSkill
from gristmill.session.skills.skill import LEVELS, Level, Skill, SkillDraft, SkillScope, hash_content
from gristmill.session.skills.skill_source import ReadSkill, check_name, check_text, read_source
from gristmill.session.skills.skill_summary import SkillSummary, open_summary, seal_summary, summarize_skill
from gristmill.store.base import Row, Statement, Store, Transaction, Value
from gristmill.store.tenant_bytes import add_tenant_bytes, build_deletion, read_tenant_bytes

log = logging.getLogger(__name__)

_COLUMNS = "tenant, level, owner, name, version, source, tests, requires, tested, caller, created, hash, seal"
_IN_PROJECT = "\x1f"
"""Stands between a caller and a project in the owner of a skill; no name of a caller or project contains it."""
_PLACE = "tenant = ? AND level = ? AND owner = ?"
_OF_SESSION = "tenant = ? AND level = 'session' AND owner = ?"
_PUT_HEAD = """INSERT INTO skill_heads (tenant, level, owner, name, version, summary) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, level, owner, name) DO UPDATE SET version = excluded.version, summary = excluded.summary"""
_READ_HEADS = f"""SELECT tenant, level, owner, name, version, summary FROM skill_heads WHERE {_PLACE}
    AND EXISTS (SELECT 1 FROM skills WHERE skills.tenant = skill_heads.tenant AND skills.level = skill_heads.level
        AND skills.owner = skill_heads.owner AND skills.name = skill_heads.name AND skills.version = skill_heads.version)
    ORDER BY name"""  # noqa: S608 - only our own constants
"""A table of its own for what is listed: in the rows of ``skills`` each source would have to be read to reach the rest."""


class SkillRules(Struct, frozen=True, kw_only=True):
    """Limits on what may be saved."""

    share: bool
    most: int
    source_bytes: int
    versions: int
    project: str = ""
    """The project that skills of level `user` belong to; empty for those of all configurations without one."""
    total_bytes: int = 1 << 62
    """How many bytes of source and tests all skills of one tenant may have together."""


ResolveTool = Callable[[str], str | None]
"""Returns the key of the tool that is meant, as its server spells it, or None if there is none."""


class SkillStore:
    """All skills of all tenants. Each request carries the scope of the asker."""

    def __init__(self, store: Store, rules: SkillRules, seal_key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._store, self._rules, self._seal_key, self._clock = store, rules, seal_key, clock
        self.tampered: list[str] = []
        """Rows that were changed since they were saved, newest last, for reports."""

    async def save(
        self, draft: SkillDraft, scope: SkillScope, level: Level = "session", resolve: ResolveTool = lambda key: key
    ) -> Skill:
        """Saves a version; one that equals the newest version is not saved again.

        Raises:
            Refused: it is not a documented function, a tool is not declared or does not exist, or the level is off.
            LimitExceeded: there are too many skills.
        """
        if level == "shared" and not self._rules.share:
            raise Refused("skills of level 'shared' are off here: set share = true under [skills]", rule="skill.share")
        owner = self._name_owner(scope, level)
        read = read_source(draft.name, draft.source, self._rules.source_bytes)
        check_text(draft.tests or "", self._rules.source_bytes, "the tests of a skill")
        requires = _resolve_requirements(draft, read, resolve)
        skill = Skill(
            tenant=scope.identity.tenant, level=level, owner=owner, name=draft.name, version=0, source=draft.source,
            tests=draft.tests, requires=requires, tested=draft.tested, caller=scope.identity.caller, created=self._clock(),
            hash=hash_content(draft.name, draft.source, draft.tests, requires),
        )  # fmt: skip
        return await self._store.change(lambda step: self._save_in_transaction(step, skill))

    async def load(self, name: str, scope: SkillScope, version: int | None = None) -> Skill:
        """Returns the newest version that ``scope`` sees, or the requested ``version``, of the first level that has it.

        Raises:
            UnknownSkill: there is none; carries names that are close to it.
            Refused: it was changed since it was saved.
        """
        check_name(name)
        for level in LEVELS:
            if rows := await self._read_rows(scope, level, name, version=version, limit=1):
                return self._read_checked(rows[0])
        names = sorted({skill.name for skill in await self.list(scope)})
        which = f"{name!r}" if version is None else f"{name!r} in version {version}"
        raise UnknownSkill(f"there is no skill {which}", near=difflib.get_close_matches(name, names, n=3))

    def _name_owner(self, scope: SkillScope, level: Level) -> str:
        """Returns the owner of a skill of ``level``: one of level `user` belongs to the caller in the configured project."""
        owner, project = scope.owner(level), self._rules.project
        return f"{owner}{_IN_PROJECT}{project}" if level == "user" and project else owner

    async def _read_rows(
        self, scope: SkillScope, level: Level, name: str, *, version: int | None = None, limit: int | None = None
    ) -> list[Row]:
        """Returns the versions of one skill on one level, the newest first."""
        if level == "session" and scope.session is None:
            return []
        sql = f"SELECT {_COLUMNS} FROM skills WHERE {_PLACE} AND name = ?"  # noqa: S608 - only our own constants
        sql += (" AND version = ?" if version is not None else "") + " ORDER BY version DESC LIMIT ?"
        values = (scope.identity.tenant, level, self._name_owner(scope, level), name, *([version] if version is not None else []))
        return await self._store.read(sql, *values, self._rules.versions if limit is None else limit)

    async def list(self, scope: SkillScope) -> tuple[SkillSummary, ...]:
        """Returns the newest version of every visible skill, sorted by name; changed summaries are left out and reported.

        No source is read: a source that was changed since it was saved is refused when the skill is loaded.
        """
        found: dict[str, SkillSummary] = {}
        for level in LEVELS:
            for row in await self._read_heads(scope, level):
                if str(row[3]) not in found and (summary := await self._read_summary(row)):
                    found[summary.name] = summary
        return tuple(found[name] for name in sorted(found))

    async def _read_heads(self, scope: SkillScope, level: Level) -> Sequence[Row]:
        if level == "session" and scope.session is None:
            return []
        return await self._store.read(_READ_HEADS, scope.identity.tenant, level, self._name_owner(scope, level))

    async def _read_summary(self, head: Row) -> SkillSummary | None:
        place, sealed = head[:5], str(head[5])
        if not sealed:  # an older version of Gristmill saved the skill, without a summary
            return await self._make_summary(place)
        if (summary := open_summary(sealed, self._seal_key, place)) is None:
            self._report_change(f"{head[3]} version {head[4]} (level {head[1]})")
        return summary

    async def _make_summary(self, place: Row) -> SkillSummary | None:
        sql = f"SELECT {_COLUMNS} FROM skills WHERE {_PLACE} AND name = ? AND version = ?"  # noqa: S608 - only our own constants
        rows = await self._store.read(sql, *place)
        skill = self._read_if_unchanged(rows[0]) if rows else None
        if skill is None:
            return None
        summary = summarize_skill(skill)
        update = f"UPDATE skill_heads SET summary = ? WHERE {_PLACE} AND name = ? AND version = ?"  # noqa: S608 - only our own constants
        self._store.write_later((update, (seal_summary(summary, self._seal_key), *place)))
        return summary

    async def versions(self, name: str, scope: SkillScope) -> tuple[Skill, ...]:
        """Returns every version of the skill with that name on the first level that has it, oldest first."""
        for level in LEVELS:
            if rows := await self._read_rows(scope, level, name):
                return tuple(skill for skill in map(self._read_if_unchanged, reversed(rows)) if skill)
        return ()

    async def delete(self, name: str, scope: SkillScope, level: Level) -> int:
        """Deletes every version; returns how many there were."""
        where = (scope.identity.tenant, level, self._name_owner(scope, level), name)

        def work(step: Transaction) -> int:
            count = step.run(f"SELECT COUNT(*) FROM skills WHERE {_PLACE} AND name = ?", *where)[0][0]  # noqa: S608 - only our own constants
            _run_deletion(step, f"{_PLACE} AND name = ?", where)
            step.run(f"DELETE FROM skill_heads WHERE {_PLACE} AND name = ?", *where)  # noqa: S608 - only our own constants
            return int(count or 0)

        return await self._store.change(work)

    def _save_in_transaction(self, step: Transaction, skill: Skill) -> Skill:
        place = (skill.tenant, skill.level, skill.owner)
        newest_row = f"SELECT {_COLUMNS} FROM skills WHERE {_PLACE} AND name = ? ORDER BY version DESC LIMIT 1"  # noqa: S608 - only our own constants
        rows = step.run(newest_row, *place, skill.name)
        if not rows:
            names = step.run(f"SELECT COUNT(*) FROM skill_heads WHERE {_PLACE}", *place)[0][0]  # noqa: S608 - only our own constants
            if int(names or 0) >= self._rules.most:
                raise LimitExceeded(f"there are {self._rules.most:,} skills already", limit="skills.most", value=self._rules.most)
        elif (newest := self._read_if_unchanged(rows[0])) and (newest.hash, newest.tested) == (skill.hash, skill.tested):
            return newest
        version = int(cast("int", rows[0][4])) + 1 if rows else 1
        saved = replace(skill, version=version)
        marks = ", ".join("?" * 14)
        _run_deletion(step, f"{_PLACE} AND name = ? AND version <= ?", (*place, skill.name, version - self._rules.versions))
        size = len(saved.source.encode("utf-8", "surrogatepass")) + len((saved.tests or "").encode("utf-8", "surrogatepass"))
        self._make_room(step, saved, size)
        row = (*_skill_to_row(saved), self._compute_seal(saved), size)
        step.run(f"INSERT INTO skills ({_COLUMNS}, size) VALUES ({marks})", *row)  # noqa: S608 - only our own constants
        add_tenant_bytes(step, skill.tenant, "skills", size)
        step.run(_PUT_HEAD, *place, skill.name, version, seal_summary(summarize_skill(saved), self._seal_key))
        return saved

    def _make_room(self, step: Transaction, skill: Skill, size: int) -> None:
        """Deletes older versions of a skill, the oldest first, until one of ``size`` bytes fits.

        Raises:
            LimitExceeded: it does not fit beside the other skills of the tenant.
        """
        most, where = self._rules.total_bytes, (skill.tenant, skill.level, skill.owner, skill.name)
        while read_tenant_bytes(step, skill.tenant, "skills") + size > most:
            oldest = step.run(f"SELECT min(version) FROM skills WHERE {_PLACE} AND name = ?", *where)[0][0]  # noqa: S608 - only our own constants
            if oldest is None:
                text = f"all skills together have at most {most:,} bytes: delete some, or save a smaller one"
                raise LimitExceeded(text, limit="skills.total_bytes", value=most)
            _run_deletion(step, f"{_PLACE} AND name = ? AND version = ?", (*where, oldest))

    def _read_if_unchanged(self, row: Row) -> Skill | None:
        try:
            return self._read_checked(row)
        except Refused:
            return None

    def _read_checked(self, row: Row) -> Skill:
        """Returns the skill in ``row`` if it still matches the seal from when it was saved.

        Raises:
            Refused: it does not.
        """
        try:
            skill = _skill_from_row(row)
            genuine = skill.hash == hash_content(skill.name, skill.source, skill.tests, skill.requires)
            genuine = genuine and hmac.compare_digest(str(row[12]), self._compute_seal(skill))
        except (ValueError, TypeError):
            genuine, skill = False, None
        if not genuine or skill is None:
            what = f"{row[3]} version {row[4]} (level {row[1]})"
            self._report_change(what)
            raise Refused(
                f"the skill {what} was changed since it was saved; it is not loaded. Save it again", rule="skill.tampered"
            )
        return skill

    def _report_change(self, what: str) -> None:
        log.warning("the skill %r was changed since it was saved and is refused", what)
        self.tampered = [*self.tampered, what][-100:]

    def _compute_seal(self, skill: Skill) -> str:
        """Returns the seal of a skill.

        It covers owner, level and ``tested`` too: a row moved to another level counts as changed.
        """
        sealed = json.dumps([value if not isinstance(value, float) else repr(value) for value in _skill_to_row(skill)])
        return hmac.new(self._seal_key, sealed.encode(), hashlib.sha256).hexdigest()


def forget_skills(session: str, tenant: str) -> Sequence[Statement]:
    """Returns the statements that delete the skills of a session."""
    return (
        *build_deletion("skills", _OF_SESSION, (tenant, session)),
        (f"DELETE FROM skill_heads WHERE {_OF_SESSION}", (tenant, session)),  # noqa: S608 - only our own constants
    )


def _run_deletion(step: Transaction, where: str, values: Sequence[Value]) -> None:
    for sql, given in build_deletion("skills", where, values):
        step.run(sql, *given)


def _resolve_requirements(draft: SkillDraft, read: ReadSkill, resolve: ResolveTool) -> tuple[str, ...]:
    """Returns the tools that a skill declares, or those that its source names if it declares none.

    Raises:
        Refused: a declared tool does not exist, or a tool that the source names is not declared.
    """
    asked = read.tools if draft.requires is None else draft.requires
    if missing := [tool for tool in asked if resolve(tool) is None]:
        raise Refused(f"{draft.name} requires {', '.join(missing)}, which no server offers", rule="skill.requires")
    requires = {key for key in map(resolve, asked) if key}
    if undeclared := [tool for tool in read.tools if (resolve(tool) or tool) not in requires]:
        raise Refused(f"{draft.name} calls {', '.join(undeclared)}: name it in requires=[...]", rule="skill.requires")
    return tuple(sorted(requires))


def _skill_to_row(skill: Skill) -> tuple[str | int | float | None, ...]:
    return (
        skill.tenant, skill.level, skill.owner, skill.name, skill.version, skill.source, skill.tests,
        json.dumps(list(skill.requires)), int(skill.tested), skill.caller, skill.created, skill.hash,
    )  # fmt: skip


def _skill_from_row(row: Row) -> Skill:
    tenant, level, owner, name, version, source, tests, requires, tested, caller, created, digest, _ = row
    return Skill(
        tenant=str(tenant), level=cast("Level", level), owner=str(owner), name=str(name), version=int(version or 0),
        source=str(source), tests=None if tests is None else str(tests), requires=tuple(json.loads(str(requires))),
        tested=bool(tested), caller=str(caller), created=float(created or 0), hash=str(digest),
    )  # fmt: skip
