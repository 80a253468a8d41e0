"""A skill as a value: its content and its owner. skill_summary.py says how search shows it, skill_store.py stores it."""

import difflib
import hashlib
import json
from collections.abc import Sequence
from typing import Literal, get_args

from msgspec import Struct

from gristmill.errors import Refused
from gristmill.model import Identity

Level = Literal["session", "user", "shared"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""Who finds a skill: this session; all sessions of this caller; everyone in the tenant. The first level that has it wins."""
SKILLS_SERVER = "skills"


class SkillScope(Struct, frozen=True, kw_only=True):
    """The identity of the asker, which decides the skills that are visible. ``session`` is a handle that was checked."""

    identity: Identity
    session: str | None = None

    def owner(self, level: Level) -> str:
        """Returns the owner of a skill of ``level`` in this scope.

        Raises:
            Refused: the level is "session" and the scope has no session.
        """
        if level == "session":
            if self.session is None:
                raise Refused(
                    "there is no session to keep it in: pass session=..., or save(..., level='user')", rule="skill.session"
                )
            return self.session
        return self.identity.caller if level == "user" else ""


class SkillDraft(Struct, frozen=True, kw_only=True):
    """A skill to be saved. If ``requires`` is None, the tools that the source names are used."""

    name: str
    source: str
    tests: str | None = None
    requires: tuple[str, ...] | None = None
    tested: bool = False


class Skill(Struct, frozen=True, kw_only=True):
    """One version of one skill, as it was saved. ``tested`` is what the sandbox that saved it reported."""

    tenant: str
    level: Level
    owner: str
    name: str
    version: int
    source: str
    tests: str | None
    requires: tuple[str, ...]
    tested: bool
    caller: str
    created: float
    hash: str

    @property
    def key(self) -> str:
        """Returns the key under which search shows it."""
        return f"{SKILLS_SERVER}.{self.name}"


def hash_content(name: str, source: str, tests: str | None, requires: Sequence[str]) -> str:
    """Returns the address of a skill's content: SHA-256 over its name, source, tests and requirements."""
    return hashlib.sha256(json.dumps([name, source, tests, sorted(requires)]).encode()).hexdigest()


def diff_skills(old: Skill, new: Skill) -> str:
    """Returns the changes from one version to another as a unified diff."""
    before, after = (f"{skill.name} version {skill.version}" for skill in (old, new))
    lines = difflib.unified_diff(
        _render_document(old).splitlines(), _render_document(new).splitlines(), before, after, lineterm=""
    )
    return "\n".join(lines)


def _render_document(skill: Skill) -> str:
    head = f"# requires: {', '.join(skill.requires) or 'nothing'}\n\n"
    return head + skill.source.rstrip("\n") + (f"\n\n# tests\n{skill.tests}" if skill.tests else "")
