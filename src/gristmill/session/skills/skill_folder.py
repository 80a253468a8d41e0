"""Exports a skill to a folder and imports it: SKILL.md describes it, skill.py and tests.py hold its code. Nothing is run."""

from pathlib import Path
from typing import cast

import yaml

from gristmill.errors import Refused
from gristmill.session.skills.skill import Skill, SkillDraft, hash_content
from gristmill.session.skills.skill_source import read_source

FILE_BYTES = 1_000_000


def export_skill(skill: Skill, folder: Path) -> Path:
    """Writes ``skill`` to a new folder with its name below ``folder``.

    Raises:
        Refused: the folder exists already, or cannot be written.
    """
    read = read_source(skill.name, skill.source, FILE_BYTES)
    front = {
        "name": skill.name,
        "description": " ".join(read.description.split("\n\n")[0].split()),
        "version": skill.version,
        "requires": list(skill.requires),
        "hash": skill.hash,
    }
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    use = f"```python\nfrom skills import {skill.name}\n\n{read.signature}\n```\n"
    text = f"---\n{head}---\n\n# {skill.name}\n\n{read.description}\n\n{use}"
    target = folder / skill.name
    try:
        target.mkdir(parents=True)
        (target / "SKILL.md").write_text(text, encoding="utf-8")
        (target / "skill.py").write_text(skill.source, encoding="utf-8")
        if skill.tests is not None:
            (target / "tests.py").write_text(skill.tests, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{target} cannot be written: {error.strerror}", rule="skill.folder") from None
    return target


def import_skill(folder: Path) -> SkillDraft:
    """Reads the skill in ``folder``, ready to be saved. Its content must match its hash; none of it is run.

    Raises:
        Refused: the folder does not hold a skill, or was changed since the export.
    """
    front = _parse_front_matter(_read_text(folder / "SKILL.md"), folder)
    source = _read_text(folder / "skill.py")
    tests = _read_text(folder / "tests.py") if (folder / "tests.py").exists() else None
    name, wanted = str(front.get("name")), _to_texts(front.get("requires"))
    if front.get("hash") != hash_content(name, source, tests, wanted):
        raise Refused(f"{folder}: its content does not match the hash in SKILL.md; it was changed", rule="skill.tampered")
    return SkillDraft(name=name, source=source, tests=tests, requires=tuple(wanted))


def _parse_front_matter(text: str, folder: Path) -> dict[str, object]:
    parts = text.split("---\n", 2)
    try:
        found: object = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0].strip() else None
    except (yaml.YAMLError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(f"{folder}/SKILL.md does not begin with front matter (--- name: ... ---)", rule="skill.folder")
    return {str(key): value for key, value in found.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _to_texts(value: object) -> list[str]:
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def _read_text(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > FILE_BYTES:
            raise Refused(f"{path} is not a plain file of at most {FILE_BYTES:,} bytes", rule="skill.folder")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}", rule="skill.folder") from None
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8 text", rule="skill.folder") from None
