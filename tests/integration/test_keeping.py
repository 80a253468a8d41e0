"""What outlives an execution, with the real sandbox and the real store: files, values and skills, and who gets to see them."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Outcome, Runtime
from gristmill.config.sections.session_section import SessionsConfig, SkillsConfig
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.errors import Error
from gristmill.model import LOCAL_IDENTITY, Identity, ToolCall, ToolResult
from gristmill.runtime.calls.answer_session import AnswerSession
from gristmill.runtime.open.session_stores import SessionStores, open_session_stores
from gristmill.session.session_register import SessionRecord
from tests.conftest import TOOLS

SAVE = '''
import re
from servers import crm
from skills import save

WIDTH = 3

def shorten(text):
    return re.sub("x", "", text)[:WIDTH]

def clean_rows(rows: list[str], prefix: str = "") -> list[str]:
    """Clean the rows of a table: drop every x and shorten them."""
    crm.find(q=prefix)
    return [prefix + shorten(row) for row in rows]

save(clean_rows, requires=["crm.find"], tests="assert clean_rows(['axxbcd']) == ['abc']", level="user")
'''


def config(state: Path, **sections: Any) -> Config:
    return Config(sandbox=SandboxConfig(warm=0), store=StoreConfig(path=state), **sections)


@asynccontextmanager
async def opened(state: Path, **sections: Any) -> AsyncGenerator[Runtime]:
    async with Runtime.open(config(state, **sections), tools=TOOLS) as runtime:
        yield runtime


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(100):
            await test()

    asyncio.run(limited())


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest) -> Path:
    """A state folder of its own that another user can pass through."""
    folder = state / f"keeping-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    return folder


def value(outcome: Outcome) -> Any:
    assert outcome.error is None, outcome.error
    return outcome.result


@pytest.mark.requirement("P15")
def test_a_skill_saved_in_one_session_is_found_and_used_in_another_after_a_restart(home: Path) -> None:
    async def test() -> None:
        async with opened(home) as runtime:
            assert "saved skills.clean_rows version 1" in value(await runtime.execute(SAVE, session="first"))
        async with opened(home) as runtime:
            found = await runtime.search("clean the rows of a table")
            assert found.hits[0].tool.key == "skills.clean_rows"
            inside = "from tool_discovery import search_tools\nstr(search_tools('clean the rows of a table', limit=1))"
            assert "from skills import clean_rows" in value(await runtime.execute(inside, session="second"))
            use = "from skills import clean_rows\nclean_rows(['xxhello', 'axb'], prefix='-')"
            outcome = await runtime.execute(use, session="second")
            assert (value(outcome), outcome.tools_called) == (["-hel", "-ab"], ("gristmill.skill_source", "crm.find"))
            assert value(await runtime.execute(use)) == ["-hel", "-ab"]  # and without a session
            assert value(await runtime.execute("import skills.clean_rows as m\nm.clean_rows(['ax']) == m(['ax'])")) is True

    run(test)


CAPTURE = '''
import math
from skills import save, source

rows, total, label = ["ann@example.org"], 99, "private"
RATE = 2
def scale(value: float) -> float:
    total = value * RATE
    return total

def summarize(values: list[float], rate: float = RATE) -> float:
    """Sums up values."""
    total = 0
    for row in values:
        total += row
    def inner(rows):
        label = len(rows)
        return label
    return scale(math.floor(total)) + inner([each for each in values])

[save(summarize), source("summarize")]
'''


def test_a_skill_keeps_only_what_it_uses_and_says_which_values(home: Path) -> None:
    async def test() -> None:
        async with opened(home) as runtime:
            line, source = value(await runtime.execute(CAPTURE, session="first"))
            assert (
                line
                == "saved skills.summarize version 1 (level session), with the present values of RATE; later: from skills import summarize"
            )
            assert source.startswith("import math\n\n\nRATE = 2\n\n\ndef scale(")
            assert "ann@example.org" not in source
            assert "private" not in source
            assert "99" not in source
            assert value(await runtime.execute("from skills import summarize\nsummarize([1, 2])", session="first")) == 8

    run(test)


def test_versions_can_be_listed_read_and_loaded(home: Path) -> None:
    async def test() -> None:
        async with opened(home) as runtime:
            for body in ("n * 2", "n * 3"):
                code = f"def times(n):\n    'Multiply.'\n    return {body}\nfrom skills import save\nsave(times)"
                value(await runtime.execute(code, session="v"))
            code = "import skills\n[skills.times(2), skills.load('times', version=1)(2), 'n * 3' in skills.source('times'),"
            code += " [v['version'] for v in skills.versions('times')], [s['name'] for s in skills.list()]]"
            assert value(await runtime.execute(code, session="v")) == [6, 4, True, [1, 2], ["times"]]
            assert value(await runtime.execute("import skills\n[skills.delete('times'), skills.list()]", session="v")) == [2, []]

    run(test)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def f(n):\n    'Doc.'\n    return n\nsave(f, tests='assert f(1) == 2')", "AssertionError"),
        ("def f(n):\n    return n\nsave(f)", "has no docstring"),
        ("class A: pass\ndef f(n):\n    'Doc.'\n    return A()\nsave(f)", "f uses A, which cannot be saved"),
        (
            "def g():\n    n = 1\n    def f():\n        'Doc.'\n        return n\n    return f\nsave(g())",
            "variables of the function",
        ),
        ("save(lambda n: n)", "not defined with def"),
        ("from servers import crm\ndef f(n):\n    'Doc.'\n    return crm.find(q=n)\nsave(f, requires=[])", "name it in requires"),
        ("def f(n):\n    'Doc.'\nsave(f, requires=['crm.nothing'])", "which no server offers"),
        ("def f(n):\n    'Doc.'\nsave(f, level='shared')", "set share = true under [skills]"),
        ("from skills import nothing", "there is no skill 'nothing'"),
    ],
)
def test_what_cannot_be_saved_says_why_and_is_not(home: Path, code: str, words: str) -> None:
    async def test() -> None:
        async with opened(home) as runtime:
            outcome = await runtime.execute(f"from skills import save\n{code}", session="s")
            assert words in (outcome.error or "")
            assert value(await runtime.execute("import skills\nskills.list()", session="s")) == []

    run(test)


@pytest.mark.requirement("T28")
def test_a_skill_changed_in_the_database_is_refused(home: Path) -> None:
    async def test() -> None:
        async with opened(home) as runtime:
            value(await runtime.execute(SAVE, session="first"))
        with sqlite3.connect(home / "gristmill.db") as database:
            changed = database.execute("UPDATE skills SET source = replace(source, 'WIDTH = 3', 'WIDTH = 9')").rowcount
        database.close()
        async with opened(home) as runtime:
            outcome = await runtime.execute("from skills import clean_rows", session="first")
            assert (changed, "was changed since it was saved" in (outcome.error or "")) == (1, True)

    run(test)


@pytest.mark.requirement("T7")
def test_a_file_in_the_workspace_cannot_stand_in_for_our_modules(home: Path) -> None:
    async def test() -> None:
        async with opened(home) as runtime:
            fake = "for n in ('skills', 'session'):\n    open(n + '.py', 'w').write('save = kv = clean_rows = 1')"
            value(await runtime.execute(fake, session="s"))
            await runtime.drop_session("s")
            code = "import skills, session\n[callable(skills.save), session.kv == 1]"
            assert value(await runtime.execute(code, session="s")) == [True, False]

    run(test)


def test_values_survive_a_restart(home: Path) -> None:
    async def test() -> None:
        async with opened(home) as runtime:
            code = "from session import kv\nkv['a'] = {'n': [1, None]}\nkv['b'] = 2\ndel kv['b']\nkv.keys()"
            assert value(await runtime.execute(code, session="s")) == ["a"]
        async with opened(home) as runtime:
            code = "from session import kv\n[kv['a'], 'b' in kv, kv.get('b', 7), len(kv), kv.items()]"
            expected = [{"n": [1, None]}, False, 7, 1, [["a", {"n": [1, None]}]]]
            assert value(await runtime.execute(code, session="s")) == expected
            missing = await runtime.execute("kv['b']", session="s")
            assert (missing.error_type, value(await runtime.execute("kv.keys()", session="s"))) == ("KeyError", ["a"])

    run(test)


def test_values_need_a_session_and_have_a_limit(home: Path) -> None:
    async def test() -> None:
        async with opened(home, sessions=SessionsConfig(kv_bytes=100)) as runtime:
            nowhere = await runtime.execute("from session import kv\nkv['a'] = 1")
            assert "execute with session=" in (nowhere.error or "")
            full = await runtime.execute("from session import kv\nkv['a'] = 'x' * 200", session="s")
            assert "at most 100 bytes" in (full.error or "")

    run(test)


def test_files_written_by_code_are_read_outside_and_the_other_way_round(home: Path) -> None:
    async def test() -> None:
        async with opened(home) as runtime:
            value(await runtime.execute("import os\nos.mkdir('out')\nopen('out/a.txt', 'w').write('from code')", session="s"))
            async with open_session_stores(config(home)) as keeping:
                files = keeping.files(await keeping.sessions.find_by_name("s", identity=LOCAL_IDENTITY))
                assert files.read("out/a.txt").body == b"from code"
                files.write("out/b.txt", b"from outside")
            code = "open('out/b.txt', 'a').write('!')\nopen('out/b.txt').read()"
            assert value(await runtime.execute(code, session="s")) == "from outside!"

    run(test)


@pytest.mark.requirement("T8")
def test_what_code_leaves_for_the_host_leads_nowhere(home: Path) -> None:
    async def test() -> None:
        code = "import os\nos.symlink('/etc/passwd', 'link')\nos.symlink('/', 'root')\n"
        code += "open('plain', 'w').write('x')\nos.link('plain', 'twin')\nopen('new\\nline', 'w').close()"
        async with opened(home) as runtime:
            value(await runtime.execute(code, session="s"))
            async with open_session_stores(config(home)) as keeping:
                files = keeping.files(await keeping.sessions.find_by_name("s", identity=LOCAL_IDENTITY))
                for path in ("link", "root/etc/passwd", "root", "twin"):
                    with pytest.raises(Error):
                        files.read(path)
                kinds = {entry.path: entry.kind for entry in files.list().entries}
        assert kinds == {
            "link": "other",
            "root": "other",
            "plain": "other",
            "twin": "other",
            "new\\x0aline": "file",
        }

    run(test)


def test_a_deleted_session_takes_everything_along_and_its_name_begins_anew(home: Path) -> None:
    async def test() -> None:
        async with opened(home) as runtime:
            code = "from session import kv\nkv['k'] = 1\nopen('f', 'w').close()\ndef f():\n    'Doc.'\nfrom skills import save\nsave(f)"
            value(await runtime.execute(code, session="s"))
        async with open_session_stores(config(home)) as keeping:
            await keeping.sessions.delete(await keeping.sessions.find_by_name("s", identity=LOCAL_IDENTITY))
        async with opened(home) as runtime:
            code = "import os, skills\nfrom session import kv\n[os.listdir('.'), kv.keys(), skills.list()]"
            assert value(await runtime.execute(code, session="s")) == [[], [], []]

    run(test)


@pytest.mark.requirement("T26", "T46")
def test_two_hundred_sessions_at_once_do_not_cross(home: Path) -> None:
    async def test() -> None:
        async with opened(home) as runtime:

            async def one(number: int) -> list[Any]:
                code = f"""
from session import kv
from skills import save
import skills, os
kv['me'] = {number}
open('me', 'w').write('{number}')
def me():
    'Say who I am.'
    return {number}
me_saved = save(me)
"""
                look = "[kv['me'], kv.keys(), open('me').read(), os.listdir('.'), skills.load('me')(), len(skills.list())]"
                value(await runtime.execute(code, session=f"s{number}"))
                return value(await runtime.execute(f"import os, skills\nfrom session import kv\n{look}", session=f"s{number}"))

            found = await asyncio.gather(*map(one, range(200)))
            assert found == [[number, ["me"], str(number), ["me"], number, 1] for number in range(200)]

    run(test)


@pytest.mark.requirement("T46")
def test_two_tenants_with_the_same_names_share_neither_interpreter_nor_files_nor_values_nor_skills(home: Path) -> None:
    async def test() -> None:
        leave = "x = 1\nopen('f', 'w').close()\nfrom session import kv\nkv['k'] = 1\ndef f():\n    'Doc.'\nfrom skills import save\nsave(f, level='user')"
        look = "import os, skills\nfrom session import kv\n['x' in globals(), os.listdir('.'), kv.keys(), [s['name'] for s in skills.list()]]"
        async with opened(home) as runtime:
            value(await runtime.execute(leave, session="work", tenant="a", caller="ann"))
            found = [
                value(await runtime.execute(look, session="work", tenant=tenant, caller="ann")) for tenant in ("b", "a", "local")
            ]
        assert found == [[False, [], [], []], [True, ["f"], ["k"], ["f"]], [False, [], [], []]]

    run(test)


ANN_OF_A, ANN_OF_B = Identity(tenant="a", caller="ann"), Identity(tenant="b", caller="ann")
Answer = tuple[str, Any]


async def ask(layer: AnswerSession, identity: Identity, session: str, tool: str, **arguments: Any) -> Answer:
    async def nowhere(_: ToolCall) -> ToolResult:
        raise AssertionError("answered here or not at all")

    call = ToolCall(id=1, tool=f"gristmill.{tool}", arguments=arguments, session=session, identity=identity)
    try:
        result: Any = (await layer(call, nowhere)).value
    except Error as error:
        return error.code, error.message
    return "ok", without_times(result)


def without_times(answer: Any) -> Any:
    match answer:
        case {"created": _, **rest}:
            return rest
        case [*rows]:
            return [without_times(each) for each in rows]
        case _:
            return answer


SOURCE = 'def tidy(n):\n    """Tidy."""\n    return n\n'


async def script(layer: AnswerSession, keeping: SessionStores, identity: Identity) -> list[Any]:
    """What a tenant does and asks; nothing in the answers may depend on another tenant."""
    answers: list[Any] = []
    for session in ("work", "play"):
        for tool, arguments in (
            ("kv_keys", {}), ("kv_get", {"key": "k"}), ("kv_set", {"key": "k", "value": session}), ("kv_get", {"key": "k"}),
            ("skill_list", {}), ("skill_source", {"name": "tidy"}), ("skill_source", {"name": "secret"}),
            ("skill_save", {"name": "tidy", "source": SOURCE, "level": "shared"}), ("skill_versions", {"name": "tidy"}),
            ("skill_list", {}), ("skill_delete", {"name": "secret", "level": "user"}), ("kv_delete", {"key": "other"}),
        ):  # fmt: skip
            answers.append(await ask(layer, identity, session, tool, **arguments))
        files = keeping.files(await keeping.sessions.find_by_name(session, identity=identity))
        answers.append([entry.path for entry in files.list().entries])
        files.write(f"{session}.txt", identity.tenant.encode())
        answers.append([entry.path for entry in files.list().entries])
    answers.append([each.name for each in await keeping.sessions.list(identity=identity)])
    return answers


async def intrude(layer: AnswerSession, keeping: SessionStores) -> SessionRecord:
    """Another tenant with the same caller, the same session names, the same skills and more."""
    for session in ("work", "play", "third"):
        await ask(layer, ANN_OF_A, session, "kv_set", key="k", value="A")
        await ask(layer, ANN_OF_A, session, "kv_set", key="other", value="A")
        for name in ("tidy", "secret"):
            for level in ("session", "user", "shared"):
                source = f'def {name}():\n    """Of A, {level}."""\n'
                assert (await ask(layer, ANN_OF_A, session, "skill_save", name=name, source=source, level=level))[0] == "ok"
        keeping.files(await keeping.sessions.find_by_name(session, identity=ANN_OF_A)).write("a.txt", b"A")
    return await keeping.sessions.find_by_name("work", identity=ANN_OF_A)


@pytest.mark.requirement("T46")
def test_what_one_tenant_does_changes_no_answer_to_another(tmp_path: Path) -> None:
    async def answers(home: Path, *, disturbed: bool) -> list[Any]:
        settings = config(home, skills=SkillsConfig(share=True))
        async with open_session_stores(settings) as keeping:
            layer = AnswerSession(keeping, _unknown)
            if disturbed:
                await intrude(layer, keeping)
            found = await script(layer, keeping, ANN_OF_B)
            if disturbed:
                await intrude(layer, keeping)
                await keeping.sessions.delete(await keeping.sessions.find_by_name("work", identity=ANN_OF_A))
                await keeping.prune()
            return found + await script(layer, keeping, ANN_OF_B)

    async def test() -> None:
        (tmp_path / "alone").mkdir()
        (tmp_path / "together").mkdir()
        alone = await answers(tmp_path / "alone", disturbed=False)
        assert alone == await answers(tmp_path / "together", disturbed=True)
        assert ("ok", {"found": True, "value": "work"}) in alone  # the script has something to say

    run(test)


def _unknown(key: str) -> Any:
    raise AssertionError(key)
