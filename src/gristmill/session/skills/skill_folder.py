"""A skill as a folder to carry elsewhere: SKILL.md with what it is, skill.py with its source, tests.py. Read, never run."""

from pathlib import Path
from typing import cast

from gristmill.errors import Refused
from gristmill.session.skills.skill import Draft, Skill, content_hash
from gristmill.session.skills.skill_source import read_source

FILE_BYTES = 1_000_000


def export_skill(skill: Skill, folder: Path) -> Path:
    """Write ``skill`` to a new folder of its name below ``folder``.

    Raises:
        Refused: it is there already, or cannot be written.
    """
    import yaml  # takes longer to load than a runtime without folders should wait

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


def import_skill(folder: Path) -> Draft:
    """The skill in ``folder``, ready to be saved. Its content must be what its hash says; nothing of it is run.

    Raises:
        Refused: it is not a skill's folder, or was changed since it was exported.
    """
    front = _front(_text(folder / "SKILL.md"), folder)
    source = _text(folder / "skill.py")
    tests = _text(folder / "tests.py") if (folder / "tests.py").exists() else None
    name, wanted = str(front.get("name")), _texts(front.get("requires"))
    if front.get("hash") != content_hash(name, source, tests, wanted):
        raise Refused(f"{folder}: its content is not what the hash in SKILL.md says; it was changed", rule="skill.tampered")
    return Draft(name=name, source=source, tests=tests, requires=tuple(wanted))


def _front(text: str, folder: Path) -> dict[str, object]:
    import yaml

    parts = text.split("---\n", 2)
    try:
        found: object = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0].strip() else None
    except (yaml.YAMLError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(f"{folder}/SKILL.md does not begin with front matter (--- name: ... ---)", rule="skill.folder")
    return {str(key): value for key, value in found.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _texts(value: object) -> list[str]:
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def _text(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > FILE_BYTES:
            raise Refused(f"{path} is no plain file of at most {FILE_BYTES:,} bytes", rule="skill.folder")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}", rule="skill.folder") from None
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8 text", rule="skill.folder") from None
