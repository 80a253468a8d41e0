"""Limits: each is exceeded once and named; memory, CPU, processes, files, disk, output and calls cannot be had beyond them."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gristmill import Outcome
from gristmill.model import Limits
from gristmill.sandbox.jails.jail_pool import LinuxPool
from tests.attack.wall import Wall, opened


def echo(text: str = "", size: int = 0) -> str:
    """A tool that answers with as much as it is asked for."""
    return text + "x" * size


@pytest.fixture(scope="module")
def namespaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wall]:
    """A gateway that grants much, so that each test can ask for less."""
    with opened(tmp_path_factory.mktemp("limits"), "namespaces", {"t.echo": echo}, limits={"memory_mb": 1024}, warm=1) as wall:
        yield wall


def has_cgroups(wall: Wall) -> bool:
    pool = wall.runtime._opened_runtime()._rooms.pool  # pyright: ignore[reportPrivateUsage]
    assert isinstance(pool, LinuxPool)
    return pool.cgroups.version != "none"


def limited(outcome: Outcome, limit: str) -> None:
    """The outcome names the limit, and is no success."""
    assert (outcome.status, outcome.limit, outcome.success) == ("limited", limit, False), outcome


# -- time -----------------------------------------------------------------------------------------------------------------

ENDLESS = {
    "loop": "while True:\n    pass",
    "sleep": "import time\ntime.sleep(600)",
    "c_code": "pow(3, 10**9)",
    "regex": "import re\nre.match(r'(a+)+$', 'a' * 64 + 'b')",
    "deaf": "import signal\nfor n in range(1, 65):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n"
    "    except (OSError, ValueError):\n        pass\nwhile True:\n    pass",
    "blocked_signals": "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(600)",
    "catch_all": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "gil": "import ctypes\nctypes.PyDLL(None).sleep(600)",
    "import": "open('endless.py', 'w').write('while True: pass')\nimport sys\nsys.path.insert(0, '.')\nimport endless",
    "finally": "try:\n    while True:\n        pass\nfinally:\n    while True:\n        pass",
    "del": "class A:\n    def __del__(self):\n        while True:\n            pass\na = A()\ndel a",
    "result": "class A:\n    def __repr__(self):\n        while True:\n            pass\nA()",
    "exit_hook": "import atexit, sys\natexit.register(lambda: [None for _ in iter(int, 1)])\nwhile True: pass",
    "threads": "import threading\nfor _ in range(8):\n    threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()\nwhile True: pass",
    "stdin": "import os\nr, w = os.pipe()\nos.read(r, 1)",
    "huge_int": "str(10 ** 10_000_000)" if False else "x = 7 ** (10 ** 9)",
    "settrace": "import sys\nsys.settrace(lambda *a: [None for _ in iter(int, 1)])\ndef f(): pass\nf()",
}


@pytest.mark.requirement("T15", "P4")
@pytest.mark.parametrize("way", ENDLESS)
def test_code_that_never_ends_is_ended_at_the_clock(namespaces: Wall, way: str) -> None:
    outcome = namespaces.run(ENDLESS[way], limits={"seconds": 0.3})
    limited(outcome, "seconds")
    assert outcome.execution_time_ms >= 290


@pytest.mark.requirement("T15")
@pytest.mark.parametrize("way", ["deaf", "catch_all", "c_code", "gil", "sleep"])
def test_a_kept_session_that_never_ends_is_ended_at_the_clock(namespaces: Wall, way: str) -> None:
    outcome = namespaces.run(ENDLESS[way], session=f"endless-{way}", limits={"seconds": 0.3})
    limited(outcome, "seconds")
    assert namespaces.run("1 + 1", session=f"endless-{way}").result == 2


@pytest.mark.requirement("T15")
@pytest.mark.parametrize("way", ["deaf", "catch_all", "c_code", "gil", "threads"])
def test_at_the_landlock_level_code_that_never_ends_is_ended_too(landlock: Wall, way: str) -> None:
    limited(landlock.run(ENDLESS[way], limits={"seconds": 0.3}), "seconds")


@pytest.mark.requirement("T15")
def test_the_clock_is_the_hosts(wall: Wall) -> None:
    started = time.monotonic()
    limited(
        wall.run(
            "import time\ntime.time = time.monotonic = time.sleep = lambda *a: 0\nwhile True: pass", limits={"seconds": 0.5}
        ),
        "seconds",
    )
    assert time.monotonic() - started >= 0.5


@pytest.mark.requirement("T15")
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_cpu_seconds_are_counted_over_all_processes(namespaces: Wall, kept: bool) -> None:
    code = "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        break\nwhile True:\n    pass"
    limited(namespaces.run(code, limits={"cpu_seconds": 1, "seconds": 25}, session="cpu" if kept else None), "cpu_seconds")


@pytest.mark.requirement("T15")
def test_cpu_seconds_end_a_single_process(wall: Wall) -> None:
    limited(wall.run("while True: pass", limits={"cpu_seconds": 1, "seconds": 25}), "cpu_seconds")


@pytest.mark.requirement("T15")
def test_sleeping_costs_no_cpu_seconds(namespaces: Wall) -> None:
    assert namespaces.run("import time\ntime.sleep(1.2)", limits={"cpu_seconds": 1}).status == "ok"


@pytest.mark.requirement("T15")
def test_half_a_cpu_is_half_of_a_whole_one(namespaces: Wall) -> None:
    if not has_cgroups(namespaces):
        pytest.skip("allowed: cpu_percent needs cgroups, and none is granted to this user")
    # CPU time per wall time, as the program itself measures it: the ratio holds on a busy machine as well, since both suffer.
    code = "import time\nend = time.monotonic() + 1.2\nc = time.process_time()\nwhile time.monotonic() < end: pass\ntime.process_time() - c"
    half = namespaces.run(code, limits={"cpu_percent": 50}).result / 1.2
    fifth = namespaces.run(code, limits={"cpu_percent": 20}).result / 1.2
    assert half < 0.62
    assert fifth < 0.30


# -- memory ---------------------------------------------------------------------------------------------------------------

GREEDY = {
    "heap": "x = bytearray(2 << 30)",
    "list": "x = []\nwhile True:\n    x.append(bytearray(1 << 20))",
    "mmap": "import mmap\nm = mmap.mmap(-1, 2 << 30)\nfor i in range(0, 2 << 30, 4096):\n    m[i] = 1",
    "shared_mmap": "import mmap\nm = mmap.mmap(-1, 2 << 30, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)\n"
    "for i in range(0, 2 << 30, 4096):\n    m[i] = 1",
    "string": "x = 'x' * (3 << 30)",
    "decompression": "import zlib\nz = zlib.compress(bytes(64 << 20))\nx = [zlib.decompress(z) for _ in range(64)]",
    "native": "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.malloc.restype = ctypes.c_void_p\nn = 0\n"
    "while True:\n    p = libc.malloc(1 << 20)\n    if not p: raise MemoryError\n    ctypes.memset(p, 1, 1 << 20)",
}


@pytest.mark.requirement("T14")
@pytest.mark.parametrize("way", GREEDY)
def test_memory_beyond_the_limit_is_not_to_be_had(namespaces: Wall, way: str) -> None:
    limited(namespaces.run(GREEDY[way], limits={"memory_mb": 128}), "memory_mb")


@pytest.mark.requirement("T14")
@pytest.mark.parametrize("way", ["heap", "list", "mmap", "shared_mmap", "native"])
def test_memory_beyond_the_limit_is_not_to_be_had_at_the_landlock_level(landlock: Wall, way: str) -> None:
    limited(landlock.run(GREEDY[way], limits={"memory_mb": 128}), "memory_mb")


@pytest.mark.requirement("T14")
@pytest.mark.parametrize("megabytes", [128, 256, 512])
def test_memory_up_to_the_limit_is_to_be_had(namespaces: Wall, megabytes: int) -> None:
    code = f"x = bytearray({megabytes - 40} << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nlen(x) >> 20"
    outcome = namespaces.run(code, limits={"memory_mb": megabytes})
    assert outcome.result == megabytes - 40, outcome
    assert outcome.memory_mb >= megabytes - 60
    limited(namespaces.run(f"x = bytearray({megabytes + 8} << 20)", limits={"memory_mb": megabytes}), "memory_mb")


@pytest.mark.requirement("T14")
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_memory_of_many_processes_counts_together(namespaces: Wall, kept: bool) -> None:
    code = """
import os, time
for _ in range(7):
    if os.fork() == 0:
        break
x = bytearray(100 << 20)
for i in range(0, len(x), 4096): x[i] = 1
time.sleep(20)
"""
    limited(namespaces.run(code, limits={"memory_mb": 256}, session="many" if kept else None), "memory_mb")


@pytest.mark.requirement("T14")
@pytest.mark.parametrize("place", ["/tmp", "/workspace", "/dev/shm"])
def test_files_in_memory_count_as_memory(namespaces: Wall, place: str) -> None:
    code = f"""
for n in range(40):
    with open(f"{place}/{{n}}", "wb") as file:
        file.write(bytes(5 << 20))
"""
    outcome = namespaces.run(code, limits={"memory_mb": 64, "workspace_mb": 150, "file_mb": 10})
    assert outcome.status == "limited"
    assert outcome.limit in ("memory_mb", "workspace_mb")


@pytest.mark.requirement("T14")
def test_what_one_run_filled_is_free_for_the_next(namespaces: Wall) -> None:
    fill = "for n in range(8):\n    open(f'/tmp/{n}', 'wb').write(bytes(10 << 20))"
    for _ in range(6):
        assert namespaces.run(fill, limits={"memory_mb": 128}).status == "ok"
        after = namespaces.run("x = bytearray(60 << 20)", limits={"memory_mb": 128})
        assert after.status == "ok", after


# -- processes, descriptors, files ----------------------------------------------------------------------------------------

BOMBS = {
    "fork": "import os\nwhile True:\n    if os.fork() == 0:\n        import time\n        time.sleep(60)",
    "threads": "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,)).start()",
    "spawn": "import subprocess, sys\np = []\nwhile True:\n    p.append(subprocess.Popen([sys.executable, '-S', '-c', 'input()'], "
    "stdin=subprocess.PIPE))",
}


@pytest.mark.requirement("T16")
@pytest.mark.parametrize("way", BOMBS)
def test_processes_and_threads_beyond_the_limit_are_not_to_be_had(namespaces: Wall, way: str) -> None:
    limited(namespaces.run(BOMBS[way], limits={"processes": 20, "seconds": 20, "memory_mb": 512}), "processes")


@pytest.mark.requirement("T87")
def test_threads_are_limited_at_the_landlock_level_without_cgroups_too(landlock: Wall, tmp_path: Path) -> None:
    with opened(tmp_path, "landlock", cgroups="off") as wall:
        assert not has_cgroups(wall)
        for session in (None, "threads"):
            limited(wall.run(SLEEPERS, limits={"processes": 64, "seconds": 20}, session=session), "processes")
        few = SLEEPERS.replace("400", "50").replace("60,", "0.1,")
        assert wall.run(few, limits={"processes": 64, "seconds": 20}).result == 50


SLEEPERS = """
import threading, time
threading.stack_size(1 << 16)
threads = [threading.Thread(target=time.sleep, args=(60,), daemon=True) for _ in range(400)]
for thread in threads:
    thread.start()
time.sleep(0.2)
len(threads)
"""


@pytest.mark.requirement("T16")
def test_a_fork_bomb_in_all_directions_is_ended_and_hurts_nobody(namespaces: Wall) -> None:
    outcome = namespaces.run(
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass", limits={"seconds": 1}
    )
    limited(outcome, "seconds")
    assert namespaces.run("1").result == 1


@pytest.mark.requirement("T16")
def test_the_fewest_open_files_that_can_be_asked_for_are_enough_to_run(wall: Wall) -> None:
    assert wall.run("open('x', 'w').write('1')\nopen('x').read()", limits={"open_files": 32}).result == "1"


@pytest.mark.requirement("T16")
def test_open_files_beyond_the_limit_are_not_to_be_had(wall: Wall) -> None:
    limited(wall.run("f = []\nwhile True:\n    f.append(open('/dev/null'))", limits={"open_files": 64}), "open_files")


@pytest.mark.requirement("T16")
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_the_workspace_holds_only_so_many_bytes(wall: Wall, kept: bool) -> None:
    # On a real disk the host looks only now and then, so the program goes on writing until it is stopped.
    code = "import time\nn = 0\nwhile True:\n    open(f'{n}', 'wb').write(bytes(1 << 20))\n    n += 1\n    n > 60 and time.sleep(0.02)"
    session = f"bytes-{wall.level}" if kept else None
    try:
        limited(wall.run(code, limits={"workspace_mb": 20, "seconds": 20}, session=session), "workspace_mb")
    finally:
        if session:
            wall.run("import os\n[os.unlink(n) for n in os.listdir('.')]", session=session, limits={"workspace_mb": 20})


@pytest.mark.requirement("T16")
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_the_workspace_holds_only_so_many_files(wall: Wall, kept: bool) -> None:
    code = "import time\nn = 0\nwhile True:\n    open(f'{n}', 'w').close()\n    n += 1\n    n > 4000 and time.sleep(0.001)"
    session = f"files-{wall.level}" if kept else None
    limited(wall.run(code, limits={"workspace_files": 500, "seconds": 20}, session=session), "workspace_files")


HIDING = {
    "deep": "import os\nfor _ in range(60):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)",
    "unreadable": "import os\nos.mkdir('closed')\nos.chdir('closed')\nos.chmod('.', 0o300)",
    "unlinked": "",
}


@pytest.mark.requirement("T16")
@pytest.mark.parametrize("way", HIDING)
def test_bytes_cannot_be_hidden_from_the_workspace_limit(namespaces: Wall, way: str) -> None:
    keep = "files.append(open(f'{n}', 'wb', 0)); files[-1].write(bytes(1 << 20))"
    drop = "; __import__('os').unlink(f'{n}')" if way == "unlinked" else "; files.pop().close()"
    code = (
        f"{HIDING[way]}\nimport time\nfiles = []\nfor n in range(150):\n    {keep}{drop}\n    n > 40 and time.sleep(0.02)\n'kept'"
    )
    outcome = namespaces.run(code, limits={"workspace_mb": 20, "open_files": 256, "seconds": 20}, session=f"hide-{way}")
    limited(outcome, "workspace_mb")


@pytest.mark.requirement("T16")
def test_a_single_file_has_a_size_limit(wall: Wall) -> None:
    limited(wall.run("open('big', 'wb').write(bytes(3 << 20))", limits={"file_mb": 2}), "file_mb")


@pytest.mark.requirement("T16")
def test_a_single_file_has_a_size_limit_however_it_grows(wall: Wall) -> None:
    for action in ("os.truncate(fd, 3 << 20)", "os.pwrite(fd, b'x', 3 << 20)", "os.posix_fallocate(fd, 0, 3 << 20)",
                   "os.lseek(fd, 3 << 20, 0); os.write(fd, b'x')"):  # fmt: skip
        outcome = wall.run(f"import os\nfd = os.open('f', os.O_CREAT | os.O_RDWR)\n{action}", limits={"file_mb": 2})
        limited(outcome, "file_mb")


# -- output ---------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T17")
@pytest.mark.parametrize("way", ["print", "raw", "stderr", "subprocess"])
def test_an_output_flood_is_cut_with_head_and_tail_kept(wall: Wall, way: str) -> None:
    if way == "subprocess" and wall.level == "landlock":
        pytest.skip("allowed: no process can be started at this level")
    flood = {
        "print": "print('HEAD')\nfor _ in range(3000):\n    print('x' * 1000)\nprint('TAIL')",
        "raw": "import os\nos.write(1, b'HEAD')\nfor _ in range(3000):\n    os.write(1, b'x' * 1000)\nos.write(1, b'TAIL')",
        "stderr": "import sys\nprint('HEAD')\nfor _ in range(3000):\n    print('x' * 1000, file=sys.stderr)\nprint('TAIL')",
        "subprocess": "import subprocess, sys\nprint('HEAD', flush=True)\n"
        "subprocess.run([sys.executable, '-S', '-c', 'print(\"x\" * 3000000)'])\nprint('TAIL')",
    }[way]
    outcome = wall.run(flood, limits={"output_bytes": 10_000})
    assert outcome.status == "ok"
    assert outcome.truncated
    assert "HEAD" in outcome.output[:100]
    assert "TAIL" in outcome.output[-100:]
    assert len(outcome.output) < 10_200


@pytest.mark.requirement("T17")
def test_an_endless_flood_neither_fills_the_gateway_nor_stops_other_runs(namespaces: Wall) -> None:
    import threading

    before = _resident_mb()
    floods = [
        threading.Thread(
            target=namespaces.run, args=("import os\nwhile True: os.write(1, b'x' * 65536)",), kwargs={"limits": {"seconds": 3}}
        )
        for _ in range(3)
    ]
    for flood in floods:
        flood.start()
    answers = [namespaces.run("1 + 1").result for _ in range(5)]
    for flood in floods:
        flood.join()
    assert answers == [2] * 5
    assert _resident_mb() - before < 100


@pytest.mark.requirement("T17")
def test_output_that_is_not_text_does_not_break_the_gateway(wall: Wall) -> None:
    outcome = wall.run("import os\nos.write(1, bytes(range(256)) * 100)\nos.write(2, b'\\xff\\xfe\\x00')\n1")
    assert outcome.status == "ok"
    outcome.output.encode()


# -- calls and results ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T21")
def test_calls_beyond_the_limit_are_refused_and_named(namespaces: Wall) -> None:
    outcome = namespaces.run("from servers import t\nfor _ in range(20): t.echo()", limits={"calls": 10})
    limited(outcome, "calls")


@pytest.mark.requirement("T21")
def test_bytes_of_calls_beyond_the_limit_are_refused_and_named(namespaces: Wall) -> None:
    limited(namespaces.run("from servers import t\nt.echo(text='x' * 50000)", limits={"call_bytes": 10_000}), "call_bytes")
    limited(namespaces.run("from servers import t\nt.echo(size=50000)", limits={"call_bytes": 10_000}), "call_bytes")


@pytest.mark.requirement("T20")
def test_a_result_beyond_the_limit_is_refused_and_named(wall: Wall) -> None:
    limited(wall.run("'x' * 20_000", limits={"result_bytes": 10_000}), "result_bytes")


@pytest.mark.requirement("T16")
def test_limits_of_a_caller_can_only_be_lower(namespaces: Wall) -> None:
    huge: dict[str, Any] = dict.fromkeys(Limits.__struct_fields__, 10**9)
    outcome = namespaces.run(
        "import resource as r\n[r.getrlimit(n)[0] for n in (r.RLIMIT_NOFILE, r.RLIMIT_NPROC, r.RLIMIT_FSIZE, r.RLIMIT_CPU)]",
        limits=huge,
    )
    assert outcome.result == [256, 64, 10 << 20, 30]


@pytest.mark.requirement("T16")
def test_every_limit_has_a_test_that_exceeds_it() -> None:
    text = Path(__file__).read_text()
    for name in Limits.__struct_fields__:
        assert f'"{name}"' in text, name


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
