"""A skill as a value: what was saved, whose it is, and how it is shown and found. Keeping them is `skills.py`'s business."""

import difflib
import hashlib
import json
from collections.abc import Sequence
from typing import Literal, get_args

from gristmill.errors import Refused
from gristmill.model import Json, Tool
from gristmill.session.skills.skill_source import read_source
from gristmill.values import dataclass

Level = Literal["session", "user", "shared"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""Who finds a skill: this session; this caller in all his sessions; everybody of the tenant. Nearer ones win."""
SERVER = "skills"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who asks: everything he can see follows from it. ``session`` is a handle that was checked."""

    tenant: str
    caller: str
    session: str | None = None

    def owner(self, level: Level) -> str:
        """Whose a skill of ``level`` is.

        Raises:
            Refused: a skill of a session, and there is none.
        """
        if level == "session":
            if self.session is None:
                raise Refused(
                    "there is no session to keep it in: pass session=..., or save(..., level='user')", rule="skill.session"
                )
            return self.session
        return self.caller if level == "user" else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What is to be saved. ``requires`` may be left open: then it is what the source names."""

    name: str
    source: str
    tests: str | None = None
    requires: tuple[str, ...] | None = None
    tested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One version of one skill, as it was saved. ``tested`` is the word of the sandbox that saved it."""

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
        """As search shows it."""
        return f"{SERVER}.{self.name}"


def content_hash(name: str, source: str, tests: str | None, requires: Sequence[str]) -> str:
    """The address of a skill's content: SHA-256 over its name, source, tests and requirements."""
    return hashlib.sha256(json.dumps([name, source, tests, sorted(requires)]).encode()).hexdigest()


def diff(old: Skill, new: Skill) -> str:
    """What changed from one version to another, as a unified diff."""
    before, after = (f"{skill.name} version {skill.version}" for skill in (old, new))
    lines = difflib.unified_diff(_document(old).splitlines(), _document(new).splitlines(), before, after, lineterm="")
    return "\n".join(lines)


def skills_as_tools(skills: Sequence[Skill]) -> tuple[Tool, ...]:
    """Skills as search knows tools: schemas are read off their signatures."""
    return tuple(_tool(skill) for skill in skills)


def _tool(skill: Skill) -> Tool:
    read = read_source(skill.name, skill.source, len(skill.source) * 4)
    told: dict[str, Json] = {
        "level": skill.level,
        "version": skill.version,
        "hash": skill.hash,
        "requires": list(skill.requires),
        "tested": skill.tested,
    }
    return Tool(
        server=SERVER,
        name=skill.name,
        description=read.description,
        input_schema=read.schema,
        output_schema=read.result,
        annotations=told,
    )


def _document(skill: Skill) -> str:
    head = f"# requires: {', '.join(skill.requires) or 'nothing'}\n\n"
    return head + skill.source.rstrip("\n") + (f"\n\n# tests\n{skill.tests}" if skill.tests else "")
