"""Skills are kept in versions, seen by whom they belong to, refused when changed, and read but never run."""

import ast
from pathlib import Path

import pytest

from gristmill.errors import LimitExceeded, Refused, UnknownSkill
from gristmill.model import Tool
from gristmill.session.skills.skill import Draft, Scope, diff, skills_as_tools
from gristmill.session.skills.skill_folder import export_skill, import_skill
from gristmill.session.skills.skill_source import RESERVED, read_source
from gristmill.session.skills.skill_store import SkillRules, Skills, forget_skills
from gristmill.store.base import Store

pytestmark = pytest.mark.anyio

ANN = Scope(tenant="acme", caller="ann", session="s1")
SOURCE = 'def double(n: int) -> int:\n    """Double a number."""\n    return n * 2\n'


def skills(store: Store, key: bytes = b"k", *, share: bool = True, most: int = 10, versions: int = 10) -> Skills:
    return Skills(store, SkillRules(share=share, most=most, source_bytes=10_000, versions=versions), key)


def draft(body: str = "n * 2", **fields: object) -> Draft:
    return Draft(**{"name": "double", "source": SOURCE.replace("n * 2", body), **fields})  # type: ignore[arg-type]


async def rule_of(kept: Skills, what: Draft, **options: object) -> str:
    with pytest.raises(Refused) as refused:
        await kept.save(what, ANN, **options)  # type: ignore[arg-type]
    return refused.value.rule


async def test_every_change_is_a_version_and_the_same_again_is_not(store: Store) -> None:
    kept = skills(store)
    saved = [await kept.save(draft(body), ANN) for body in ("n * 2", "n + n", "n + n")]
    assert [skill.version for skill in saved] == [1, 2, 2]
    assert (await kept.load("double", ANN)).source == saved[1].source
    assert await kept.load("double", ANN, 1) == saved[0]
    assert [skill.version for skill in await kept.versions("double", ANN)] == [1, 2]


async def test_the_oldest_version_makes_room(store: Store) -> None:
    kept = skills(store, versions=2)
    for number in range(4):
        await kept.save(draft(f"n * {number}"), ANN)
    assert [skill.version for skill in await kept.versions("double", ANN)] == [3, 4]


@pytest.mark.requirement("T46")
async def test_each_level_is_seen_by_those_it_is_for(store: Store) -> None:
    kept = skills(store)
    for level in ("session", "user", "shared"):
        source = f'def of_{level}():\n    """Doc."""\n'
        await kept.save(Draft(name=f"of_{level}", source=source), ANN, level)
    seen = {
        "same session": ANN,
        "other session": Scope(tenant="acme", caller="ann", session="s2"),
        "no session": Scope(tenant="acme", caller="ann"),
        "colleague": Scope(tenant="acme", caller="bob", session="s1b"),
        "other tenant": Scope(tenant="evil", caller="ann", session="s1"),
    }
    assert {who: [skill.name for skill in await kept.list(scope)] for who, scope in seen.items()} == {
        "same session": ["of_session", "of_shared", "of_user"],
        "other session": ["of_shared", "of_user"],
        "no session": ["of_shared", "of_user"],
        "colleague": ["of_shared"],
        "other tenant": [],
    }
    with pytest.raises(UnknownSkill):
        await kept.load("of_user", seen["other tenant"])


async def test_sharing_is_off_until_it_is_configured(store: Store) -> None:
    assert await rule_of(skills(store, share=False), draft(), level="shared") == "skill.share"


async def test_the_nearer_level_wins(store: Store) -> None:
    kept = skills(store)
    await kept.save(draft("n + n"), ANN, "user")
    await kept.save(draft("n * 2"), ANN, "session")
    assert [skill.level for skill in await kept.list(ANN)] == ["session"]


@pytest.mark.requirement("T28")
@pytest.mark.parametrize(
    "change",
    [
        'source = \'def double(n):\n    """Doc."""\n    import os\'',
        "tests = 'assert True'",
        "requires = '[\"bank.pay\"]'",
        "requires = 'no json'",
        "tested = 1",
        "level = 'shared', owner = ''",
        "tenant = 'evil'",
        "owner = 's2'",
        "version = 7",
        "caller = 'bob'",
        "hash = 'feed'",
        "seal = 'feed'",
    ],
)
async def test_a_changed_row_is_refused_and_reported(store: Store, change: str) -> None:
    kept = skills(store)
    await kept.save(draft(), ANN)
    await store.write((f"UPDATE skills SET {change}", ()))
    everyone = [ANN, Scope(tenant="evil", caller="ann", session="s1"), Scope(tenant="acme", caller="ann", session="s2")]
    rules: set[str] = set()
    for scope in everyone:
        try:
            await kept.load("double", scope)
            rules.add("loaded")
        except Refused as refusal:
            rules.add(refusal.rule)
        except UnknownSkill:
            pass
        assert await kept.list(scope) == ()
    assert (rules, len(kept.tampered) > 0) == ({"skill.tampered"}, True)


@pytest.mark.requirement("T28")
async def test_a_row_with_a_hash_made_to_fit_is_refused_without_the_key(store: Store) -> None:
    await skills(store, b"another key").save(draft(), ANN)
    with pytest.raises(Refused):
        await skills(store).load("double", ANN)


async def test_a_changed_version_can_be_followed_by_a_sound_one(store: Store) -> None:
    kept = skills(store)
    await kept.save(draft(), ANN)
    await store.write(("UPDATE skills SET source = 'x'", ()))
    assert (await kept.save(draft(), ANN)).version == 2
    assert (await kept.load("double", ANN)).version == 2


async def test_requirements_are_declared_known_and_complete(store: Store) -> None:
    kept = skills(store)
    source = (
        'from servers import crm\nfrom servers.bank import pay\n\n\ndef act():\n    """Act."""\n    return pay(crm.find(q=1))\n'
    )
    act = Draft(name="act", source=source)
    assert (await kept.save(act, ANN)).requires == ("bank.pay", "crm.find")
    assert await rule_of(kept, Draft(name="act", source=source, requires=("crm.find",))) == "skill.requires"
    assert await rule_of(kept, act, resolve=dict[str, str]().get) == "skill.requires"


@pytest.mark.parametrize(
    ("what", "rule"),
    [
        (Draft(name="double", source="def double(n):\n    return n"), "skill.docstring"),
        (Draft(name="double", source="def other():\n    'doc'"), "skill.function"),
        (Draft(name="double", source="def double(:"), "skill.syntax"),
        (Draft(name="double", source="x = " + "(" * 5_000 + ")" * 4_000), "skill.syntax"),
        (Draft(name="double", source="x = " + "-" * 9_000 + "1"), "skill.syntax"),
        (Draft(name="double", source=SOURCE + "# \u202e"), "skill.text"),
        (Draft(name="double", source=SOURCE + "#" * 10_000), "skill.size"),
        (Draft(name="save", source=SOURCE), "skill.name"),
        (Draft(name="Double", source=SOURCE), "skill.name"),
        (Draft(name="../x", source=SOURCE), "skill.name"),
        (Draft(name="class", source=SOURCE), "skill.name"),
    ],
)
async def test_what_is_no_skill_is_refused(store: Store, what: Draft, rule: str) -> None:
    assert await rule_of(skills(store), what) == rule


async def test_a_session_skill_needs_a_session(store: Store) -> None:
    with pytest.raises(Refused):
        await skills(store).save(draft(), Scope(tenant="acme", caller="ann"))


async def test_there_is_an_end_to_how_many(store: Store) -> None:
    kept = skills(store, most=1)
    await kept.save(draft(), ANN)
    await kept.save(draft("n + n"), ANN)
    with pytest.raises(LimitExceeded):
        await kept.save(Draft(name="other", source='def other():\n    """Doc."""\n'), ANN)


async def test_near_names_are_offered(store: Store) -> None:
    kept = skills(store)
    await kept.save(draft(), ANN)
    with pytest.raises(UnknownSkill) as unknown:
        await kept.load("duoble", ANN)
    assert unknown.value.near == ("double",)


async def test_skills_go_with_their_session_and_by_hand(store: Store) -> None:
    kept = skills(store)
    await kept.save(draft(), ANN, "session")
    await kept.save(draft(), ANN, "user")
    await store.write(*forget_skills("s1"))
    assert [skill.level for skill in await kept.list(ANN)] == ["user"]
    assert (await kept.delete("double", ANN, "user"), await kept.list(ANN)) == (1, ())


async def test_a_skill_is_a_tool_with_a_schema_read_off_its_signature(store: Store) -> None:
    source = (
        "def find_rows(rows: list[dict], /, name: str, limit: int = 5, kind: Literal['a', 'b'] | None = None, *,"
        ' exact=False, **more) -> dict[str, int]:\n    """Find rows.\n\n    By name.\n    """\n'
    )
    saved = await skills(store).save(Draft(name="find_rows", source=source), ANN)
    assert skills_as_tools([saved]) == (
        Tool(
            server="skills",
            name="find_rows",
            description="Find rows.\n\nBy name.",
            input_schema={
                "type": "object",
                "properties": {
                    "rows": {"type": "array", "items": {"type": "object"}},
                    "name": {"type": "string"},
                    "limit": {"type": "integer", "default": 5},
                    "kind": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
                    "exact": {"default": False},
                },
                "required": ["rows", "name"],
                "additionalProperties": True,
            },
            output_schema={"type": "object", "additionalProperties": {"type": "integer"}},
            annotations={"level": "session", "version": 1, "hash": saved.hash, "requires": [], "tested": False},
        ),
    )


@pytest.mark.requirement("T28")
async def test_reading_a_skill_runs_nothing_of_it(store: Store, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    evil = f"open({str(mark)!r}, 'w')\n\n\ndef double(n=open({str(mark)!r}, 'w')) -> open({str(mark)!r}, 'w'):\n    'Doc.'\n"
    saved = await skills(store).save(Draft(name="double", source=evil, tests=evil), ANN)
    skills_as_tools([saved])
    read_source("double", import_skill(export_skill(saved, tmp_path)).source, 10_000)
    assert not mark.exists()


async def test_a_difference_shows_what_changed(store: Store) -> None:
    kept = skills(store)
    old, new = [await kept.save(draft(body), ANN) for body in ("n * 2", "n + n")]
    assert [line for line in diff(old, new).splitlines() if line[:1] in "+-"] == [
        "--- double version 1", "+++ double version 2", "-    return n * 2", "+    return n + n",
    ]  # fmt: skip


async def test_a_folder_carries_a_skill_elsewhere(store: Store, tmp_path: Path) -> None:
    kept = skills(store)
    saved = await kept.save(draft(tests="assert double(1) == 2"), ANN)
    folder = export_skill(saved, tmp_path)
    there = Scope(tenant="elsewhere", caller="bob", session="x")
    arrived = await kept.save(import_skill(folder), there)
    assert (arrived.hash, arrived.source, arrived.tests, arrived.tested) == (saved.hash, saved.source, saved.tests, False)
    assert (folder / "SKILL.md").read_text().startswith("---\nname: double\ndescription: Double a number.\nversion: 1\n")


@pytest.mark.requirement("T28")
@pytest.mark.parametrize("name", ["skill.py", "tests.py", "SKILL.md"])
async def test_a_changed_folder_is_refused(store: Store, tmp_path: Path, name: str) -> None:
    folder = export_skill(await skills(store).save(draft(tests="assert True"), ANN), tmp_path)
    (folder / name).write_text((folder / name).read_text().replace("double", "treble") + " ")
    with pytest.raises(Refused):
        import_skill(folder)


@pytest.mark.parametrize("text", ["", "no front matter", "---\n- a list\n---\n", "---\n!!python/object:os.system x\n---\n"])
def test_a_folder_that_is_no_skill_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "SKILL.md").write_text(text)
    (tmp_path / "skill.py").write_text(SOURCE)
    with pytest.raises(Refused):
        import_skill(tmp_path)


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").symlink_to("/etc/passwd")
    with pytest.raises(Refused):
        import_skill(tmp_path)


def test_every_name_of_the_module_that_code_imports_is_reserved() -> None:
    module = Path(__file__).parents[4] / "src/gristmill/guest/skills_module.py"
    names: set[str] = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            names.add(node.name)
    assert names == RESERVED
