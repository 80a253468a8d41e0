"""Functions that code saved for later: versioned, addressed by their content, sealed against changes, never run on the host."""

import difflib
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from gristmill.errors import LimitExceeded, Refused, UnknownSkill
from gristmill.session.skills.skill import LEVELS, Draft, Level, Scope, Skill, content_hash
from gristmill.session.skills.skill_source import ReadSkill, check_name, check_text, read_source
from gristmill.store.base import Row, Statement, Store, Transaction
from gristmill.values import dataclass

log = logging.getLogger(__name__)

TABLES = (
    """CREATE TABLE IF NOT EXISTS skills (
        tenant TEXT NOT NULL, level TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
        source TEXT NOT NULL, tests TEXT, requires TEXT NOT NULL, tested INTEGER NOT NULL, caller TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, hash TEXT NOT NULL, seal TEXT NOT NULL,
        PRIMARY KEY (tenant, level, owner, name, version))""",
)
_COLUMNS = "tenant, level, owner, name, version, source, tests, requires, tested, caller, created, hash, seal"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRules:
    """What may be saved."""

    share: bool
    most: int
    source_bytes: int
    versions: int


Resolve = Callable[[str], str | None]
"""The key of the tool that is meant, as its server spells it, or nothing if there is none."""


class Skills:
    """All skills of all tenants; each question comes with the scope of who asks."""

    def __init__(self, store: Store, rules: SkillRules, seal_key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._store, self._rules, self._seal_key, self._clock = store, rules, seal_key, clock
        self.tampered: list[str] = []
        """Rows that were found changed since they were saved, newest last: for whoever reports."""

    async def save(self, draft: Draft, scope: Scope, level: Level = "session", resolve: Resolve = lambda key: key) -> Skill:
        """Save a version; one that is the same as the newest is not saved again.

        Raises:
            Refused: not a documented function, a tool that is not declared or does not exist, or a level that is off.
            LimitExceeded: too many skills.
        """
        if level == "shared" and not self._rules.share:
            raise Refused("skills of level 'shared' are off here: set share = true under [skills]", rule="skill.share")
        owner = scope.owner(level)
        read = read_source(draft.name, draft.source, self._rules.source_bytes)
        check_text(draft.tests or "", self._rules.source_bytes, "the tests of a skill")
        requires = _requirements(draft, read, resolve)
        skill = Skill(
            tenant=scope.tenant, level=level, owner=owner, name=draft.name, version=0, source=draft.source, tests=draft.tests,
            requires=requires, tested=draft.tested, caller=scope.caller, created=self._clock(),
            hash=content_hash(draft.name, draft.source, draft.tests, requires),
        )  # fmt: skip
        return await self._store.change(lambda step: self._saved(step, skill))

    async def load(self, name: str, scope: Scope, version: int | None = None) -> Skill:
        """The newest version that ``scope`` sees, or the one asked for, of the nearest level.

        Raises:
            UnknownSkill: there is none; carries near names.
            Refused: it was changed since it was saved.
        """
        check_name(name)
        for level in LEVELS:
            rows = [row for row in await self._rows(scope, level, name) if version in (None, row[4])]
            if rows:
                return self._checked(rows[-1])
        names = sorted({skill.name for skill in await self.list(scope)})
        which = f"{name!r}" if version is None else f"{name!r} in version {version}"
        raise UnknownSkill(f"there is no skill {which}", near=difflib.get_close_matches(name, names, n=3))

    async def _rows(self, scope: Scope, level: Level, name: str | None = None) -> list[Row]:
        if level == "session" and scope.session is None:
            return []
        sql = f"SELECT {_COLUMNS} FROM skills WHERE tenant = ? AND level = ? AND owner = ?"  # noqa: S608 - our own words
        values = (scope.tenant, level, scope.owner(level), *([name] if name is not None else []))
        return await self._store.read(sql + (" AND name = ?" if name is not None else "") + " ORDER BY name, version", *values)

    async def list(self, scope: Scope) -> tuple[Skill, ...]:
        """The newest version of every skill in sight, by name; changed ones are left out and reported."""
        found: dict[str, Skill] = {}
        for level in LEVELS:
            newest = {str(row[3]): row for row in await self._rows(scope, level)}
            for name, row in newest.items():
                if name not in found and (skill := self._sound(row)):
                    found[name] = skill
        return tuple(found[name] for name in sorted(found))

    async def versions(self, name: str, scope: Scope) -> tuple[Skill, ...]:
        """Every version of the nearest skill of that name, oldest first."""
        for level in LEVELS:
            if rows := await self._rows(scope, level, name):
                return tuple(skill for skill in map(self._sound, rows) if skill)
        return ()

    async def delete(self, name: str, scope: Scope, level: Level) -> int:
        """Forget every version; says how many there were."""
        count = len(await self._rows(scope, level, name))
        where = (scope.tenant, level, scope.owner(level), name)
        await self._store.write(("DELETE FROM skills WHERE tenant = ? AND level = ? AND owner = ? AND name = ?", where))
        return count

    def _saved(self, step: Transaction, skill: Skill) -> Skill:
        where = "tenant = ? AND level = ? AND owner = ?"
        place = (skill.tenant, skill.level, skill.owner)
        rows = step.run(f"SELECT {_COLUMNS} FROM skills WHERE {where} AND name = ? ORDER BY version", *place, skill.name)  # noqa: S608 - our own words
        if not rows:
            names = step.run(f"SELECT COUNT(DISTINCT name) FROM skills WHERE {where}", *place)[0][0]  # noqa: S608 - our own words
            if int(names or 0) >= self._rules.most:
                raise LimitExceeded(f"there are {self._rules.most:,} skills already", limit="skills.most", value=self._rules.most)
        elif (newest := self._sound(rows[-1])) and (newest.hash, newest.tested) == (skill.hash, skill.tested):
            return newest
        version = int(cast("int", rows[-1][4])) + 1 if rows else 1
        saved = replace(skill, version=version)
        marks = ", ".join("?" * 13)
        step.run(f"INSERT INTO skills VALUES ({marks})", *_row(saved), self._seal(saved))  # noqa: S608 - our own words
        oldest = f"DELETE FROM skills WHERE {where} AND name = ? AND version <= ?"  # noqa: S608 - our own words
        step.run(oldest, *place, skill.name, version - self._rules.versions)
        return saved

    def _sound(self, row: Row) -> Skill | None:
        try:
            return self._checked(row)
        except Refused:
            return None

    def _checked(self, row: Row) -> Skill:
        """The skill in ``row``, if it is still what was sealed when it was saved."""
        try:
            skill = _skill(row)
            genuine = skill.hash == content_hash(skill.name, skill.source, skill.tests, skill.requires)
            genuine = genuine and hmac.compare_digest(str(row[12]), self._seal(skill))
        except (ValueError, TypeError):
            genuine, skill = False, None
        if not genuine or skill is None:
            what = f"{row[3]} version {row[4]} (level {row[1]})"
            log.warning("the skill %r was changed since it was saved and is refused", what)
            self.tampered = [*self.tampered, what][-100:]
            raise Refused(
                f"the skill {what} was changed since it was saved; it is not loaded. Save it anew", rule="skill.tampered"
            )
        return skill

    def _seal(self, skill: Skill) -> str:
        """Covers whose it is and how far it is trusted too: a row moved to another level is a changed row."""
        told = json.dumps([value if not isinstance(value, float) else repr(value) for value in _row(skill)])
        return hmac.new(self._seal_key, told.encode(), hashlib.sha256).hexdigest()


def forget_skills(session: str) -> Sequence[Statement]:
    """The skills of a session, deleted."""
    return (("DELETE FROM skills WHERE level = 'session' AND owner = ?", (session,)),)


def _requirements(draft: Draft, read: ReadSkill, resolve: Resolve) -> tuple[str, ...]:
    """The tools that a skill declares, or names where it declares nothing; each must exist, and none may be left unsaid."""
    asked = read.tools if draft.requires is None else draft.requires
    if missing := [tool for tool in asked if resolve(tool) is None]:
        raise Refused(f"{draft.name} requires {', '.join(missing)}, which no server offers", rule="skill.requires")
    requires = {key for key in map(resolve, asked) if key}
    if undeclared := [tool for tool in read.tools if (resolve(tool) or tool) not in requires]:
        raise Refused(f"{draft.name} calls {', '.join(undeclared)}: name it in requires=[...]", rule="skill.requires")
    return tuple(sorted(requires))


def _row(skill: Skill) -> tuple[str | int | float | None, ...]:
    return (
        skill.tenant, skill.level, skill.owner, skill.name, skill.version, skill.source, skill.tests,
        json.dumps(list(skill.requires)), int(skill.tested), skill.caller, skill.created, skill.hash,
    )  # fmt: skip


def _skill(row: Row) -> Skill:
    tenant, level, owner, name, version, source, tests, requires, tested, caller, created, digest, _ = row
    return Skill(
        tenant=str(tenant), level=cast("Level", level), owner=str(owner), name=str(name), version=int(version or 0),
        source=str(source), tests=None if tests is None else str(tests), requires=tuple(json.loads(str(requires))),
        tested=bool(tested), caller=str(caller), created=float(created or 0), hash=str(digest),
    )  # fmt: skip
