"""What listings and searches show of a skill: everything but its source and tests, which are read only when it is loaded."""

import hashlib
import hmac
from typing import Any

import msgspec
from msgspec import Struct

from gristmill.model import Json, Tool
from gristmill.session.skills.skill import SKILLS_SERVER, Level, Skill
from gristmill.session.skills.skill_source import read_source


class SkillSummary(Struct, frozen=True, kw_only=True):
    """The newest version of a skill, without its source."""

    tenant: str
    level: Level
    owner: str
    name: str
    version: int
    description: str
    schema: dict[str, Json]
    result: dict[str, Json] | None
    requires: tuple[str, ...]
    tested: bool
    caller: str
    created: float
    hash: str

    @property
    def key(self) -> str:
        """Returns the key under which search shows it."""
        return f"{SKILLS_SERVER}.{self.name}"


def summarize_skill(skill: Skill) -> SkillSummary:
    """Reads description and schemas off the source of a skill."""
    read = read_source(skill.name, skill.source, len(skill.source) * 4)
    return SkillSummary(
        tenant=skill.tenant, level=skill.level, owner=skill.owner, name=skill.name, version=skill.version,
        description=read.description, schema=read.schema, result=read.result, requires=skill.requires, tested=skill.tested,
        caller=skill.caller, created=skill.created, hash=skill.hash,
    )  # fmt: skip


def seal_summary(summary: SkillSummary, key: bytes) -> str:
    """Returns a summary as sealed text for the store."""
    text = msgspec.json.encode(summary).decode()
    return f"{_compute_seal(text, key)} {text}"


def open_summary(sealed: str, key: bytes, place: tuple[Any, ...]) -> SkillSummary | None:
    """Returns the summary in ``sealed``; None if it was changed, or is not the one of ``place``.

    ``place`` is tenant, level, owner, name and version.
    """
    seal, _, text = sealed.partition(" ")
    if not hmac.compare_digest(seal.encode(), _compute_seal(text, key).encode()):
        return None
    try:
        found = msgspec.json.decode(text, type=SkillSummary)
    except msgspec.DecodeError:
        return None
    return found if (found.tenant, found.level, found.owner, found.name, found.version) == place else None


def convert_summaries(skills: tuple[SkillSummary, ...]) -> tuple[Tool, ...]:
    """Converts skills to tools for search."""
    return tuple(_convert_to_tool(skill) for skill in skills)


def _convert_to_tool(skill: SkillSummary) -> Tool:
    annotations: dict[str, Json] = {
        "level": skill.level,
        "version": skill.version,
        "hash": skill.hash,
        "requires": list(skill.requires),
        "tested": skill.tested,
    }
    return Tool(
        server=SKILLS_SERVER,
        name=skill.name,
        description=skill.description,
        input_schema=skill.schema,
        output_schema=skill.result,
        annotations=annotations,
    )


def _compute_seal(text: str, key: bytes) -> str:
    return hmac.new(key, b"summary\0" + text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
