"""Skills are kept in versions, seen by whom they belong to, refused when changed, and read but never run."""

import ast
from pathlib import Path

import pytest

from gristmill.errors import LimitExceeded, Refused, UnknownSkill
from gristmill.model import Identity, Tool
from gristmill.session.skills.skill import SkillDraft, SkillScope, diff_skills
from gristmill.session.skills.skill_folder import export_skill, import_skill
from gristmill.session.skills.skill_source import RESERVED_NAMES, read_source
from gristmill.session.skills.skill_store import SkillRules, SkillStore, forget_skills
from gristmill.session.skills.skill_summary import convert_summaries, summarize_skill
from gristmill.store.base import Store

pytestmark = pytest.mark.anyio

ANN = SkillScope(identity=Identity(tenant="acme", caller="ann"), session="s1")
SOURCE = 'def double(n: int) -> int:\n    """Double a number."""\n    return n * 2\n'


def skills(store: Store, key: bytes = b"k", *, share: bool = True, most: int = 10, versions: int = 10) -> SkillStore:
    return SkillStore(store, SkillRules(share=share, most=most, source_bytes=10_000, versions=versions), key)


def of_project(store: Store, project: str) -> SkillStore:
    return SkillStore(store, SkillRules(share=True, most=10, source_bytes=10_000, versions=10, project=project), b"k")


def draft(body: str = "n * 2", **fields: object) -> SkillDraft:
    return SkillDraft(**{"name": "double", "source": SOURCE.replace("n * 2", body), **fields})  # type: ignore[arg-type]


async def rule_of(kept: SkillStore, what: SkillDraft, **options: object) -> str:
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


async def test_skills_of_a_user_belong_to_a_project_and_shared_ones_to_all(store: Store) -> None:
    shop, clinic, plain = of_project(store, "shop"), of_project(store, "clinic"), of_project(store, "")
    await shop.save(draft("n * 2"), ANN, "user")
    await clinic.save(draft("n * 3"), ANN, "user")
    await shop.save(SkillDraft(name="all", source='def all():\n    """Doc."""\n'), ANN, "shared")
    assert "n * 2" in (await of_project(store, "shop").load("double", ANN)).source
    assert "n * 3" in (await clinic.load("double", ANN)).source
    assert [[skill.name for skill in await kept.list(ANN)] for kept in (shop, clinic, plain)] == [
        ["all", "double"], ["all", "double"], ["all"],
    ]  # fmt: skip
    with pytest.raises(UnknownSkill):
        await plain.load("double", ANN)
    await shop.delete("double", ANN, "user")
    assert "n * 3" in (await clinic.load("double", ANN)).source


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
        await kept.save(SkillDraft(name=f"of_{level}", source=source), ANN, level)
    seen = {
        "same session": ANN,
        "other session": SkillScope(identity=Identity(tenant="acme", caller="ann"), session="s2"),
        "no session": SkillScope(identity=Identity(tenant="acme", caller="ann")),
        "colleague": SkillScope(identity=Identity(tenant="acme", caller="bob"), session="s1b"),
        "other tenant": SkillScope(identity=Identity(tenant="evil", caller="ann"), session="s1"),
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
    everyone = [
        ANN,
        SkillScope(identity=Identity(tenant="evil", caller="ann"), session="s1"),
        SkillScope(identity=Identity(tenant="acme", caller="ann"), session="s2"),
    ]
    rules: set[str] = set()
    for scope in everyone:
        try:
            await kept.load("double", scope)
            rules.add("loaded")
        except Refused as refusal:
            rules.add(refusal.rule)
        except UnknownSkill:
            pass
        # The sealed summary still says what was saved, if its row is where it was; nothing that was changed is shown or loaded.
        assert [each.description for each in await kept.list(scope)] in ([], ["Double a number."])
    assert (rules, len(kept.tampered) > 0) == ({"skill.tampered"}, True)


@pytest.mark.requirement("T28")
@pytest.mark.parametrize(
    "change", ["summary = replace(summary, 'Double', 'Triple')", "summary = 'x'", "owner = 's2'", "version = 7"]
)
async def test_a_changed_summary_is_not_listed(store: Store, change: str) -> None:
    kept = skills(store)
    await kept.save(draft(), ANN)
    assert [each.name for each in await kept.list(ANN)] == ["double"]
    await store.write((f"UPDATE skill_heads SET {change}", ()))
    for session in ("s1", "s2"):
        assert await kept.list(SkillScope(identity=ANN.identity, session=session)) == ()


@pytest.mark.requirement("T133")
async def test_a_listing_reads_no_source(store: Store) -> None:
    kept = skills(store)
    for body in ("n * 2", "n + n"):
        await kept.save(draft(body, tests="assert double(1) == 2"), ANN)
    await store.write(("UPDATE skills SET source = 'gone', tests = 'gone'", ()))
    assert [(each.name, each.version, each.description) for each in await kept.list(ANN)] == [("double", 2, "Double a number.")]
    with pytest.raises(Refused):
        await kept.load("double", ANN)


async def test_a_skill_of_an_older_version_gets_its_summary_when_it_is_first_listed(store: Store) -> None:
    kept = skills(store)
    await kept.save(draft(), ANN)
    before = await kept.list(ANN)
    await store.write(("UPDATE skill_heads SET summary = ''", ()))
    assert await kept.list(ANN) == before
    await store.flush()
    assert await store.read("SELECT count(*) FROM skill_heads WHERE summary = ''") == [(0,)]


@pytest.mark.requirement("T134")
async def test_a_tenant_has_a_limit_of_bytes_for_all_its_skills(store: Store) -> None:
    kept = SkillStore(store, SkillRules(share=True, most=100, source_bytes=10_000, versions=100, total_bytes=3_000), b"k")
    padding = f"#{'x' * 900}\n"
    for number in range(5):  # older versions of the same skill make room
        await kept.save(SkillDraft(name="double", source=f"{padding}{SOURCE}# {number}"), ANN)
    assert [each.version for each in await kept.versions("double", ANN)] == [3, 4, 5]
    triple = SkillDraft(name="triple", source=f"#{'x' * 2_900}\n{SOURCE.replace('double', 'triple')}")
    with pytest.raises(LimitExceeded) as exceeded:
        await kept.save(triple, ANN)
    assert exceeded.value.limit == "skills.total_bytes"
    other = SkillScope(identity=Identity(tenant="other", caller="ann"), session="s1")
    assert (await kept.save(draft(), other)).version == 1
    await kept.delete("double", ANN, "session")
    assert await store.read("SELECT bytes FROM tenant_bytes WHERE tenant = 'acme' AND kind = 'skills'") == [(0,)]


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
    act = SkillDraft(name="act", source=source)
    assert (await kept.save(act, ANN)).requires == ("bank.pay", "crm.find")
    assert await rule_of(kept, SkillDraft(name="act", source=source, requires=("crm.find",))) == "skill.requires"
    assert await rule_of(kept, act, resolve=dict[str, str]().get) == "skill.requires"


@pytest.mark.parametrize(
    ("what", "rule"),
    [
        (SkillDraft(name="double", source="def double(n):\n    return n"), "skill.docstring"),
        (SkillDraft(name="double", source="def other():\n    'doc'"), "skill.function"),
        (SkillDraft(name="double", source="def double(:"), "skill.syntax"),
        (SkillDraft(name="double", source="x = " + "(" * 5_000 + ")" * 4_000), "skill.syntax"),
        (SkillDraft(name="double", source="x = " + "-" * 9_000 + "1"), "skill.syntax"),
        (SkillDraft(name="double", source=SOURCE + "# \u202e"), "skill.text"),
        (SkillDraft(name="double", source=SOURCE + "#" * 10_000), "skill.size"),
        (SkillDraft(name="save", source=SOURCE), "skill.name"),
        (SkillDraft(name="Double", source=SOURCE), "skill.name"),
        (SkillDraft(name="../x", source=SOURCE), "skill.name"),
        (SkillDraft(name="class", source=SOURCE), "skill.name"),
    ],
)
async def test_what_is_no_skill_is_refused(store: Store, what: SkillDraft, rule: str) -> None:
    assert await rule_of(skills(store), what) == rule


async def test_a_session_skill_needs_a_session(store: Store) -> None:
    with pytest.raises(Refused):
        await skills(store).save(draft(), SkillScope(identity=Identity(tenant="acme", caller="ann")))


async def test_there_is_an_end_to_how_many(store: Store) -> None:
    kept = skills(store, most=1)
    await kept.save(draft(), ANN)
    await kept.save(draft("n + n"), ANN)
    with pytest.raises(LimitExceeded):
        await kept.save(SkillDraft(name="other", source='def other():\n    """Doc."""\n'), ANN)


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
    await store.write(*forget_skills("s1", "acme"))
    assert [skill.level for skill in await kept.list(ANN)] == ["user"]
    assert (await kept.delete("double", ANN, "user"), await kept.list(ANN)) == (1, ())


async def test_a_skill_is_a_tool_with_a_schema_read_off_its_signature(store: Store) -> None:
    source = (
        "def find_rows(rows: list[dict], /, name: str, limit: int = 5, kind: Literal['a', 'b'] | None = None, *,"
        ' exact=False, **more) -> dict[str, int]:\n    """Find rows.\n\n    By name.\n    """\n'
    )
    saved = await skills(store).save(SkillDraft(name="find_rows", source=source), ANN)
    assert convert_summaries((summarize_skill(saved),)) == (
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
    saved = await skills(store).save(SkillDraft(name="double", source=evil, tests=evil), ANN)
    convert_summaries((summarize_skill(saved),))
    read_source("double", import_skill(export_skill(saved, tmp_path)).source, 10_000)
    assert not mark.exists()


async def test_a_difference_shows_what_changed(store: Store) -> None:
    kept = skills(store)
    old, new = [await kept.save(draft(body), ANN) for body in ("n * 2", "n + n")]
    assert [line for line in diff_skills(old, new).splitlines() if line[:1] in "+-"] == [
        "--- double version 1", "+++ double version 2", "-    return n * 2", "+    return n + n",
    ]  # fmt: skip


async def test_a_folder_carries_a_skill_elsewhere(store: Store, tmp_path: Path) -> None:
    kept = skills(store)
    saved = await kept.save(draft(tests="assert double(1) == 2"), ANN)
    folder = export_skill(saved, tmp_path)
    there = SkillScope(identity=Identity(tenant="elsewhere", caller="bob"), session="x")
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
    assert names == RESERVED_NAMES
