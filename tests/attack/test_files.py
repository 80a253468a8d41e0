"""Files: nothing of the host's can be read, changed, executed or left behind as a trap."""

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from gristmill.session.files.workspace import make_folder_name
from tests.attack.conftest import Canary
from tests.attack.wall import EFFECT, Wall, everything, opened, outside, program, secret

OPENERS = {
    "open": "return open(values['path']).read()",
    "os_open": "import os\nreturn os.read(os.open(values['path'], os.O_RDONLY), 4096)",
    "openat_from_root": """
        import os
        root = os.open("/", os.O_PATH)
        return os.read(os.open(values["path"].lstrip("/"), os.O_RDONLY, dir_fd=root), 4096)
    """,
    "dots": "return open('/' + '../' * 64 + values['path'].lstrip('/')).read()",
    "symlink": """
        import os, tempfile
        link = os.path.join(tempfile.mkdtemp(), "link")
        os.symlink(values["path"], link)
        return open(link).read()
    """,
    "proc_root": "return open('/proc/self/root' + values['path']).read()",
    "proc_cwd": "return open('/proc/self/cwd/' + '../' * 64 + values['path'].lstrip('/')).read()",
    "native_call": """
        import ctypes
        libc = ctypes.CDLL(None)
        fd = libc.open(values["path"].encode(), 0)
        buffer = ctypes.create_string_buffer(4096)
        assert libc.read(fd, buffer, 4096) > 0
        return buffer.value
    """,
    "mmap": """
        import mmap
        with open(values["path"], "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)[:]
    """,
    "sendfile": """
        import os
        source = os.open(values["path"], os.O_RDONLY)
        read, write = os.pipe()
        os.splice(source, write, 4096)
        return os.read(read, 4096)
    """,
    "hidden_classes": """
        # The classic way out of language-level sandboxes: from an object to the class of all objects to a loader.
        loader = next(c for c in object.__subclasses__() if c.__name__ == "BuiltinImporter")
        return loader.load_module("io").open(values["path"]).read()
    """,
    "gc_objects": """
        import gc, sys
        frames = [o for o in gc.get_objects() if getattr(o, "__name__", "") == "posix"]
        posix = (frames or [sys.modules["posix"]])[0]
        return posix.read(posix.open(values["path"], 0), 4096)
    """,
    "subprocess": """
        import subprocess, sys
        code = "import sys; print(open(sys.argv[1]).read())"
        return subprocess.run([sys.executable, "-c", code, values["path"]], capture_output=True, text=True, check=True).stdout
    """,
    "sqlite_attach": """
        import sqlite3
        return sqlite3.connect(":memory:").execute("select 1").fetchone(), open(values["path"]).read()
    """,
}


@pytest.mark.requirement("T1", "T3")
@pytest.mark.parametrize("way", OPENERS)
def test_guest_cannot_read_a_host_file(wall: Wall, canary: Canary, way: str) -> None:
    wall.holds(OPENERS[way], loot=canary.secret, path=str(canary.path))


@pytest.mark.requirement("T3")
def test_guest_cannot_see_that_a_host_file_exists(namespaces: Wall, canary: Canary) -> None:
    namespaces.holds("import os\nreturn os.stat(values['path']).st_size", path=str(canary.path))


@pytest.mark.requirement("T3")
def test_guest_cannot_list_a_host_folder(wall: Wall, canary: Canary) -> None:
    wall.holds("import os\nreturn os.listdir(values['path'])", loot=canary.path.name, path=str(canary.path.parent))


WRITERS = {
    "overwrite": "open(values['path'], 'w').write('owned')",
    "append": "open(values['path'], 'a').write('owned')",
    "truncate": "import os\nos.truncate(values['path'], 0)",
    "unlink": "import os\nos.unlink(values['path'])",
    "rename": "import os\nos.rename(values['path'], values['path'] + '.moved')",
    "chmod": "import os\nos.chmod(values['path'], 0)",
    "utime": "import os\nos.utime(values['path'], (1, 1))",
    "hard_link": "import os\nos.link(values['path'], values['path'] + '.link')",
    "create_beside": "open(values['path'] + '.new', 'w').write('owned')",
    "mkdir_beside": "import os\nos.mkdir(values['path'] + '.folder')",
    "symlink_beside": "import os\nos.symlink('/', values['path'] + '.symlink')",
}


@pytest.mark.requirement("T3")
@pytest.mark.parametrize("way", WRITERS)
def test_guest_cannot_change_a_host_file(wall: Wall, canary: Canary, way: str) -> None:
    def picture() -> list[tuple[str, int, int, int]]:
        entries = sorted(canary.path.parent.iterdir())
        return [(e.name, (s := e.lstat()).st_mode, s.st_mtime_ns, e.stat(follow_symlinks=False).st_size) for e in entries]

    twin = canary.path.with_name("twin")
    shutil.copy2(canary.path, twin)
    before = picture()
    outside(program(WRITERS[way], {"path": str(twin)}))
    assert picture() != before, "the attack is broken: it changes nothing without a wall either"
    before = picture()
    wall.inside(WRITERS[way], path=str(canary.path))
    assert picture() == before


@pytest.mark.requirement("T3")
@pytest.mark.parametrize("folder", ["/", "/usr", "/etc", "/opt", "/dev", "/lib", sys.base_prefix])
def test_guest_cannot_write_outside_its_workspace(wall: Wall, public: Path, folder: str) -> None:
    body = "path = values['folder'] + '/gristmill-was-here'\nopen(path, 'w').write('x')"
    assert EFFECT in outside(program(body, {"folder": str(public)}))
    outcome = wall.inside(body, folder=folder)
    assert EFFECT not in outcome.output
    assert not Path(folder, "gristmill-was-here").exists()


@pytest.mark.requirement("T3")
def test_guest_cannot_read_another_sessions_workspace(wall: Wall) -> None:
    value = secret()
    wall.run(f"open('private.txt', 'w').write({value!r})", session="victim")
    state = Path(wall.runtime._opened_runtime()._rooms.session_stores.workspaces.root)  # pyright: ignore[reportPrivateUsage]
    (folder,) = (each for each in state.glob("victim-*") if each.is_dir())
    path = folder / "private.txt"
    assert value in outside(program("return open(values['path']).read()", {"path": str(path)}))
    body = """
        import os
        found, hits = [], []
        for folder, names, files in os.walk("/"):
            names[:] = [name for name in names if name not in ("proc", "usr", "lib", "python")]
            hits += [os.path.join(folder, file) for file in files if file == "private.txt"]
        places = [values["path"], f"../{values['folder']}/private.txt", f"/run/workspaces/{values['folder']}/private.txt"]
        for place in places + hits:
            try:
                found.append(open(place).read())
            except OSError:
                pass
        return found
    """
    outcome = wall.inside(body, session="thief", path=str(path), folder=folder.name)
    assert value not in everything(outcome)
    assert value not in everything(wall.inside(body, path=str(path), folder=folder.name))


@pytest.mark.requirement("T3")
def test_guest_cannot_follow_a_symlink_out_of_its_workspace_in_a_later_run(wall: Wall, canary: Canary) -> None:
    wall.run(f"import os\nos.symlink({str(canary.path)!r}, 'link')", session="linker")
    outcome = wall.inside("return open('link').read()", session="linker")
    assert canary.secret not in everything(outcome)


@pytest.mark.requirement("T3", "T5")
def test_guest_does_not_learn_paths_of_the_host(namespaces: Wall) -> None:
    state = str(namespaces.runtime._opened_runtime()._rooms.session_stores.workspaces.root)  # pyright: ignore[reportPrivateUsage]
    body = """
        found = []
        for name in ("mountinfo", "mounts", "mountstats", "maps", "environ", "cmdline", "cgroup"):
            try:
                found.append(open(f"/proc/self/{name}").read())
            except OSError:
                pass
        return found
    """
    text = everything(namespaces.inside(body))
    for path in {state, sys.prefix, str(Path(__file__).parents[2])}:
        assert path not in text


KERNEL_TRICKS = {
    "mount": "assert libc.mount(b'none', values['folder'].encode(), b'tmpfs', 0, None) == 0",
    "chroot": "assert libc.chroot(values['folder'].encode()) == 0",
    "pivot_root": "assert libc.syscall(155, b'/tmp', b'/tmp') in (0, -1) and ctypes.get_errno() != 1",
    "umount": "assert libc.umount2(b'/proc', 2) in (0, -1) and ctypes.get_errno() != 1",
    "mknod": "import os, stat\nos.mknod(values['folder'] + '/disk', 0o666 | stat.S_IFBLK, os.makedev(254, 0))",
    "open_tree": "assert libc.syscall(428, -100, b'/', 1) >= 0",
    "fsopen": "assert libc.syscall(430, b'tmpfs', 0) >= 0",
}


@pytest.mark.requirement("T6")
@pytest.mark.parametrize("way", KERNEL_TRICKS)
def test_guest_cannot_mount_chroot_or_make_a_device(wall: Wall, public: Path, way: str) -> None:
    body = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n" + KERNEL_TRICKS[way]
    if os.geteuid() == 0:
        # Without a wall root can do all of them; in a namespace of its own, so that the host keeps its mounts.
        unshared = f"import os, ctypes\nassert ctypes.CDLL(None).unshare(0x20000) == 0\n{body}"
        assert EFFECT in outside(program(unshared, {"folder": str(public)}))
    outcome = wall.inside(body, folder="/tmp")
    assert EFFECT not in outcome.output


@pytest.mark.requirement("T6")
def test_guest_finds_no_device_but_the_harmless_ones(namespaces: Wall) -> None:
    outcome = namespaces.run("""
import os, stat
found = []
for folder, names, files in os.walk("/"):
    if folder.startswith(("/proc", "/opt/python", "/usr")):
        names.clear()
        continue
    for name in files:
        mode = os.lstat(os.path.join(folder, name)).st_mode
        if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
            found.append(os.path.join(folder, name))
sorted(found)
""")
    assert outcome.result == ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"]


@pytest.mark.requirement("T6")
def test_guest_finds_no_set_uid_program_that_gains_anything(namespaces: Wall) -> None:
    # Every mount but the device files is nosuid (test_posture counts them); this is the second reason why none can help.
    status = namespaces.run("[l.split()[1] for l in open('/proc/self/status') if l.startswith('NoNewPrivs')]")
    assert status.result == ["1"]


@pytest.mark.requirement("T3", "T6")
def test_guest_cannot_execute_a_program_that_it_wrote(wall: Wall) -> None:
    body = """
        import os, shutil, subprocess, sys, tempfile
        target = os.path.join(tempfile.mkdtemp(), "program")
        shutil.copy(os.path.realpath(sys.executable), target)
        os.chmod(target, 0o755) if os.access(target, os.W_OK) and hasattr(os, "chmod") else None
        return subprocess.run([target, "-I", "-S", "-c", "print('ran')"], capture_output=True, text=True).stdout
    """
    wall.holds(body, loot="ran")


@pytest.mark.requirement("T7")
@pytest.mark.parametrize("module", ["json", "os", "encodings", "asyncio", "gristmill"])
def test_guest_cannot_change_code_that_the_runtime_will_load(wall: Wall, module: str) -> None:
    before = wall.run("import json\njson.dumps(1)").result
    outcome = wall.inside(
        """
        import importlib.util, os, sys
        spec = importlib.util.find_spec(values["module"])
        origins = [spec.origin] if spec and spec.has_location else [os.__file__]
        origins += [p for p in sys.path if "workspace" not in p] + ["/opt/gristmill/gristmill/guest/runner.py", "/opt/catalog/servers/__init__.py"]
        done = []
        for origin in origins:
            for action in (
                lambda: open(origin, "a").write("#"),
                lambda: os.rename(origin, origin + "x"),
                lambda: open(os.path.join(os.path.dirname(origin), "sitecustomize.py"), "w").write("x=1"),
                lambda: os.makedirs(os.path.join(os.path.dirname(origin), "__pycache__", "x")),
            ):
                try:
                    action()
                    done.append(origin)
                except OSError:
                    pass
        assert done
        return done
        """,
        module=module,
    )
    assert EFFECT not in outcome.output, outcome.output
    assert wall.run("import json\njson.dumps(1)").result == before


@pytest.mark.requirement("T7", "T28")
@pytest.mark.parametrize(
    "name", ["json.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "mcp_client.py", "gristmill.py", "encodings.py"]
)
def test_a_file_in_the_workspace_does_not_stand_in_for_a_module(wall: Wall, name: str) -> None:
    session = f"shadow-{name.removesuffix('.py')}"
    wall.run(f"open({name!r}, 'w').write('raise SystemExit(\"shadowed\")')", session=session)
    wall.runtime.drop_session(session)
    outcome = wall.run("import json, mcp_client, encodings\njson.dumps([1])", session=session)
    assert outcome.result == "[1]", outcome
    assert wall.run("import json, mcp_client, encodings\njson.dumps([1])").result == "[1]"


@pytest.mark.requirement("T28")
def test_nothing_in_a_workspace_runs_on_the_host(wall: Wall, public: Path) -> None:
    trap = f"open({str(public / 'trap')!r}, 'w')"
    names = ["sitecustomize.py", "conftest.py", "gristmill.toml", ".env", "setup.py", "__init__.py", "x.pth", ".pythonrc.py"]
    wall.run(f"for name in {names!r}:\n    open(name, 'w').write({trap!r})", session="trapper")
    wall.runtime.drop_session("trapper")
    wall.run("1", session="trapper")
    assert not (public / "trap").exists()


@pytest.mark.requirement("T8")
def test_hostile_names_and_links_in_a_workspace_do_not_lead_the_host_astray(tmp_path: Path, public: Path) -> None:
    with opened(tmp_path, "namespaces", limits={"workspace_files": 200}) as wall:
        # The host measures the folder while code runs: links must not be followed, odd names must not stop it.
        outcome = wall.run(
            """
import os, time
os.symlink("/", "root"); os.symlink(".", "loop"); os.symlink("nowhere", "dangling")
os.mkdir("sub\\n\\x1b[31m"); open(b"\\xff\\xfe", "w").close(); open("-rf", "w").close(); open("$(touch owned)", "w").close()
os.truncate(os.open("sparse", os.O_CREAT | os.O_WRONLY), 1 << 20)
end = time.monotonic() + 0.6
while time.monotonic() < end: pass
sorted(os.listdir(b"."))[:3] and "done"
""",
            session="hostile",
        )
        assert outcome.result == "done", outcome


@pytest.mark.requirement("T3")
def test_a_workspace_that_is_a_link_is_refused(tmp_path: Path, public: Path) -> None:
    with opened(tmp_path, "namespaces") as wall:
        wall.run("1", session="linked")
        wall.runtime.drop_session("linked")
        root = Path(wall.runtime._opened_runtime()._rooms.session_stores.workspaces.root)  # pyright: ignore[reportPrivateUsage]
        (folder,) = (each for each in root.glob("linked-*") if each.is_dir())
        folder.rmdir()
        folder.symlink_to(public)
        outcome = wall.run("open('x', 'w')", session="linked")
        assert outcome.status == "refused"
        assert list(public.iterdir()) == []


@pytest.mark.requirement("T3")
@pytest.mark.parametrize("session", ["../../etc", "/etc", "..", ".", "a/b", "a\\b", "A", "ü" * 60, "x" * 128])
def test_a_session_name_never_leads_out_of_the_workspaces(tmp_path: Path, session: str) -> None:
    name = make_folder_name(session)
    assert "/" not in name
    assert name not in (".", "..")
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()
    assert stat.S_ISDIR(tmp_path.stat().st_mode)
