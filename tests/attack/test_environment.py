"""The environment and credentials: nothing of the gateway's is in the process that runs code, nor in any it can look at."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gristmill.errors import ToolFailed
from tests.attack.wall import Wall, everything, opened, outside, program, secret

LOOKS = {
    "os.environ": "import os\nreturn dict(os.environ)",
    "libc_environ": """
        import ctypes
        environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        found = []
        while environ[len(found)]:
            found.append(environ[len(found)])
        return found
    """,
    "proc_self": "return open('/proc/self/environ').read()",
    "proc_parents": """
        import os
        found = [dict(os.environ)]
        for pid in (name for name in os.listdir("/proc") if name.isdigit()):
            for file in ("environ", "cmdline"):
                try:
                    found.append(open(f"/proc/{pid}/{file}").read())
                except OSError:
                    pass
        return found
    """,
    "own_memory": """
        import ctypes, os, re
        needle = values["prefix"].encode()
        own = id(needle)
        found = set()
        try:
            maps = open("/proc/self/maps").read().splitlines()
        except OSError:
            return os.environ.get("GRISTMILL_ATTACK_SECRET")
        for line in maps:
            span, modes, _, _, _, *name = line.split()
            if modes[0] != "r" or name[:1] in (["[vvar]"], ["[vsyscall]"], ["[vvar_vclock]"]):
                continue
            low, high = (int(part, 16) for part in span.split("-"))
            try:
                text = ctypes.string_at(low, high - low)
            except (OSError, ValueError, MemoryError):
                continue
            found |= {match.group() for match in re.finditer(re.escape(needle) + rb"[0-9a-f]{24}", text)}
        return found
    """,
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Wall | str]]:
    """Gateways started while a secret was in the gateway's environment and memory."""
    value = secret()
    os.environ["GRISTMILL_ATTACK_SECRET"] = value
    try:
        with opened(tmp_path_factory.mktemp("planted"), "namespaces") as wall:
            yield {"wall": wall, "secret": value}
    finally:
        del os.environ["GRISTMILL_ATTACK_SECRET"]


@pytest.mark.requirement("T4", "T29")
@pytest.mark.parametrize("way", LOOKS)
def test_guest_cannot_read_the_gateways_environment(planted: dict[str, Wall | str], way: str) -> None:
    wall, value = planted["wall"], planted["secret"]
    assert isinstance(wall, Wall)
    assert isinstance(value, str)
    control = outside(program(LOOKS[way], {"prefix": value[:7]}))
    assert value in control, f"the attack is broken: {control}"
    assert value not in everything(wall.inside(LOOKS[way], prefix=value[:7]))


@pytest.mark.requirement("T4")
@pytest.mark.parametrize("way", LOOKS)
def test_guest_at_the_landlock_level_cannot_read_the_gateways_environment(landlock: Wall, way: str) -> None:
    # The secret was set long before, when the session began: HOME and PATH of the gateway stand in for it.
    prefix = "PWD=" if os.environ.get("PWD") else ""
    outcome = landlock.inside(LOOKS[way], prefix=prefix)
    value = os.environ.get("VIRTUAL_ENV") or os.environ.get("PYTEST_CURRENT_TEST", "PYTEST_CURRENT_TEST")
    assert value not in everything(outcome)
    assert "PYTEST_CURRENT_TEST" not in everything(outcome)


@pytest.mark.requirement("T4", "T29")
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_guest_environment_is_exactly_the_documented_one(wall: Wall, kept: bool) -> None:
    names = wall.run("import os\nsorted(os.environ)", session="environment" if kept else None).result
    expected = {
        "HOME", "LANG", "LD_LIBRARY_PATH", "MALLOC_ARENA_MAX", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH",
        "PYTHONDONTWRITEBYTECODE", "TMPDIR", "TZ", "USER",
    }  # fmt: skip
    assert set(names) - {"LC_CTYPE"} == expected


@pytest.mark.requirement("T29")
def test_credentials_of_a_tool_never_enter_the_guest(tmp_path: Path) -> None:
    token = secret()

    def find(name: str) -> str:
        assert token  # the tool uses its credential here, in the gateway
        return f"found {name}"

    def broken(name: str) -> str:
        raise ToolFailed("the upstream said no")

    def bug(name: str) -> str:
        raise RuntimeError(f"Authorization: Bearer {name}")

    tools = {"crm.find": find, "crm.broken": broken, "crm.bug": bug}
    body = """
        import gc, sys
        from servers import crm
        found = [crm.find(name="ann")]
        for tool in (crm.broken, crm.bug):
            try:
                tool(name="ann")
            except Exception as error:
                found.append((repr(error), vars(error), [repr(f) for f in (error.__cause__, error.__context__)]))
        found += [repr(o)[:500] for o in gc.get_objects() if isinstance(o, (str, dict, list, tuple))]
        found += [repr(vars(module))[:100000] for module in list(sys.modules.values())]
        return [text for text in map(str, found) if values["prefix"] in text and "canary" in text]
    """
    with opened(tmp_path, "namespaces", tools) as wall:
        outcome = wall.inside(body, prefix=token[:6])
        assert token not in everything(outcome)
        assert outcome.tools_called == ("crm.find", "crm.broken", "crm.bug")


@pytest.mark.requirement("T29")
def test_a_bug_in_the_gateways_tool_handler_does_not_tell_its_text(tmp_path: Path) -> None:
    token = secret()

    class Trap:
        def __iter__(self) -> Iterator[str]:
            raise RuntimeError(token)

    def answer() -> object:
        return Trap()  # not JSON: the gateway itself fails on it

    with opened(tmp_path, "namespaces", {"crm.answer": answer}) as wall:
        outcome = wall.run("from servers import crm\ntry:\n    crm.answer()\nexcept Exception as e:\n    print(repr(e), vars(e))")
        assert token not in everything(outcome)


@pytest.mark.requirement("T29")
def test_a_crash_leaves_no_core_dump(wall: Wall) -> None:
    outcome = wall.run("import os, resource\n[list(resource.getrlimit(resource.RLIMIT_CORE)), os.getcwd()]")
    assert outcome.result[0] == [0, 0]
    crashed = wall.run("import ctypes\nctypes.string_at(0)", session="dumper")
    assert crashed.status == "crashed"
    left = wall.run("import os\nos.listdir('.')", session="dumper").result
    assert [name for name in left if "core" in name] == []


@pytest.mark.requirement("T29")
def test_launcher_and_template_have_no_secret_in_argument_or_environment(planted: dict[str, Wall | str]) -> None:
    value = planted["secret"]
    assert isinstance(value, str)
    descendants = _descendants(os.getpid())
    readable = 0
    for pid in descendants:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue  # gone, or in a namespace that even we cannot look into
        readable += 1
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"keep_template.py" in command or b"fork_template.py" in command:
            assert value.encode() not in environment + command
    assert readable or sys.platform != "linux"


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    todo = [pid]
    while todo:
        parent = todo.pop()
        try:
            threads = os.listdir(f"/proc/{parent}/task")
            words = " ".join(Path(f"/proc/{parent}/task/{thread}/children").read_text() for thread in threads).split()
        except OSError:
            continue
        found += map(int, words)
        todo += map(int, words)
    return found
