"""Processes: none of the host's can be seen, signalled, debugged, slowed or borrowed from, and none of a run's survives it."""

import os
import resource
import sys
from pathlib import Path

import pytest

from tests.attack.wall import EFFECT, Wall, bystander, outside, program, wait_until

SIGNALS = {
    "kill": "import os\nos.kill(values['pid'], 9)",
    "tkill": "assert libc.syscall(200, values['pid'], 9) == 0",
    "tgkill": "assert libc.syscall(234, values['pid'], values['pid'], 9) == 0",
    "killpg": "import os\nos.killpg(os.getpgid(values['pid']), 9)",
    "pidfd": "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(values['pid']), 9)",
    "sigqueue": """
        info = (ctypes.c_int * 32)(9, 0, -1, 0, os.getpid(), os.getuid())
        assert libc.syscall(129, values["pid"], 9, info) == 0
    """,
    "fcntl_owner": """
        # A pipe whose owner is the victim, with SIGKILL in place of SIGIO: the kernel sends it when data arrives.
        import fcntl
        read, write = os.pipe()
        fcntl.fcntl(read, fcntl.F_SETOWN, values["pid"])
        fcntl.fcntl(read, 10, 9)
        fcntl.fcntl(read, fcntl.F_SETFL, fcntl.fcntl(read, fcntl.F_GETFL) | fcntl.FASYNC if hasattr(fcntl, "FASYNC") else 0o20000)
        os.write(write, b"x")
    """,
    "prlimit_cpu": """
        import resource
        resource.prlimit(values["pid"], resource.RLIMIT_CPU, (0, 0))
    """,
}
HEAD = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def _body(text: str) -> str:
    lines = text.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return HEAD + "\n".join(line[indent:] for line in lines)


@pytest.mark.requirement("T11")
@pytest.mark.parametrize("way", SIGNALS)
def test_guest_cannot_signal_or_limit_a_process_of_the_host(wall: Wall, way: str) -> None:
    if sys.platform == "linux" and os.uname().machine != "x86_64" and way in ("tkill", "tgkill", "sigqueue"):
        pytest.skip("allowed: the raw numbers are those of x86_64")
    body = _body(SIGNALS[way])
    with bystander() as victim:
        control = outside(program(body, {"pid": victim.pid}))
        if way == "prlimit_cpu":
            assert resource.prlimit(victim.pid, resource.RLIMIT_CPU)[0] == 0, f"the attack is broken: {control}"
        else:
            victim.wait(30)
    with bystander() as victim:
        before = resource.prlimit(victim.pid, resource.RLIMIT_CPU)
        wall.inside(body, pid=victim.pid)
        assert victim.poll() is None
        assert resource.prlimit(victim.pid, resource.RLIMIT_CPU) == before


@pytest.mark.requirement("T11", "T18")
def test_guest_cannot_change_limits_or_affinity_of_a_process_of_the_host(wall: Wall) -> None:
    body = """
        import os, resource
        done = []
        for name in ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_AS"):
            try:
                resource.prlimit(values["pid"], getattr(resource, name), (1 << 30, 1 << 30) if name == "RLIMIT_AS" else (7, 7))
                done.append(name)
            except (OSError, ValueError):
                pass
        try:
            os.sched_setaffinity(values["pid"], {0})
            done.append("affinity")
        except OSError:
            pass
        assert done
        return done
    """

    def picture(pid: int) -> object:
        names = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_AS)
        return [resource.prlimit(pid, name) for name in names], os.sched_getaffinity(pid)

    with bystander() as victim:
        assert EFFECT in outside(program(body, {"pid": victim.pid}))
    with bystander() as victim:
        before = picture(victim.pid)
        wall.inside(body, pid=victim.pid)
        assert picture(victim.pid) == before


DEBUGGING = {
    "ptrace_attach": "assert libc.ptrace(16, values['pid'], 0, 0) == 0",
    "ptrace_seize": "assert libc.ptrace(0x4206, values['pid'], 0, 0) == 0",
    "process_vm_readv": """
        class Iovec(ctypes.Structure):
            _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
        buffer = ctypes.create_string_buffer(64)
        here, there = Iovec(ctypes.addressof(buffer), 64), Iovec(values["address"], 64)
        assert libc.process_vm_readv(values["pid"], ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0
        return buffer.raw
    """,
    "proc_mem": """
        with open(f"/proc/{values['pid']}/mem", "rb", 0) as memory:
            memory.seek(values["address"])
            return memory.read(16)
    """,
    "proc_fd": "return [os.readlink(f'/proc/{values[\"pid\"]}/fd/{n}') for n in range(3)]",
    "pidfd_getfd": """
        pidfd = os.pidfd_open(values["pid"])
        answer = libc.syscall(438, pidfd, 0, 0)
        assert answer >= 0
    """,
    "proc_root": "return os.listdir(f'/proc/{values[\"pid\"]}/root/')",
    "setns": """
        fd = os.open(f"/proc/{values['pid']}/ns/mnt", os.O_RDONLY)
        return fd
    """,
}


@pytest.mark.requirement("T11")
@pytest.mark.parametrize("way", DEBUGGING)
def test_guest_cannot_look_into_a_process_of_the_host(wall: Wall, way: str) -> None:
    body = _body(DEBUGGING[way])
    with bystander() as victim:
        address = _mapped_address(victim.pid)
        control = outside(program(body, {"pid": victim.pid, "address": address}))
        assert EFFECT in control, control
    with bystander() as victim:
        outcome = wall.inside(body, pid=victim.pid, address=_mapped_address(victim.pid))
        assert EFFECT not in outcome.output
        outcome = wall.inside(body, pid=os.getpid(), address=_mapped_address(os.getpid()))
        assert EFFECT not in outcome.output


def _mapped_address(pid: int) -> int:
    return int(Path(f"/proc/{pid}/maps").read_text().split("-")[0], 16)


@pytest.mark.requirement("T11")
def test_guest_sees_no_process_but_its_own(wall: Wall) -> None:
    body = """
        import os
        others = []
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                try:
                    others.append((name, open(f"/proc/{name}/comm").read()))
                except FileNotFoundError:
                    pass  # it has ended meanwhile
        assert others
        return others
    """
    wall.holds(body)


@pytest.mark.requirement("T11")
def test_guest_does_not_learn_which_pids_exist_on_the_host(namespaces: Wall) -> None:
    body = """
        import os
        def exists(pid):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return False
            except PermissionError:
                pass
            return True
        found = [pid for pid in range(2, 5000) if exists(pid)]
        assert found
        return found
    """
    namespaces.holds(body)


@pytest.mark.requirement("T11")
def test_guest_has_no_terminal_and_no_input(wall: Wall) -> None:
    outcome = wall.run("""
import fcntl, os, sys
def attempt(action):
    try:
        return action()
    except (OSError, EOFError) as error:
        return type(error).__name__
tty = attempt(lambda: os.open("/dev/tty", os.O_RDWR))
inject = [attempt(lambda: fcntl.ioctl(fd, 0x5412, b"x")) for fd in range(4)]  # TIOCSTI
[sys.stdin.read(), attempt(input), tty, inject, [os.isatty(fd) for fd in range(4)]]
""")
    assert outcome.result[0] == ""
    assert outcome.result[1] == "EOFError"
    assert outcome.result[2] in ("FileNotFoundError", "PermissionError")
    assert set(outcome.result[3]) <= {"OSError", "PermissionError"}
    assert outcome.result[4] == [False] * 4


@pytest.mark.requirement("T18")
def test_guest_cannot_shed_its_limits(wall: Wall) -> None:
    outcome = wall.run("""
import os, resource
done = []
for name in ("RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_CORE", "RLIMIT_MEMLOCK"):
    number = getattr(resource, name)
    soft, hard = resource.getrlimit(number)
    if hard == resource.RLIM_INFINITY:
        continue
    for ask in ((hard + 1, hard + 1), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)):
        for call in (lambda: resource.setrlimit(number, ask), lambda: resource.prlimit(0, number, ask), lambda: resource.prlimit(os.getpid(), number, ask)):
            try:
                call()
                done.append(name)
            except (OSError, ValueError):
                pass
for action in (
    lambda: os.nice(-5),
    lambda: os.setpriority(os.PRIO_PROCESS, 0, -10),
    lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)),
    lambda: open("/proc/self/oom_score_adj", "w").write("-1000"),
    lambda: open("/proc/self/cgroup").read() and open("/sys/fs/cgroup/cgroup.procs", "w").write("1"),
    lambda: os.listdir("/sys/fs/cgroup"),
    lambda: os.setuid(0),
    lambda: os.setgid(0),
    lambda: os.setgroups([0]),
    lambda: os.setresuid(0, 0, 0),
):
    try:
        action()
        done.append(action.__code__.co_firstlineno)
    except OSError:
        pass
done
""")
    assert outcome.status == "ok"
    assert outcome.result == []


@pytest.mark.requirement("T11")
def test_guest_is_in_a_session_and_group_of_its_own(wall: Wall) -> None:
    with bystander() as victim:
        # A signal to "my group" or "everybody" must reach only the run itself.
        outcome = wall.run("import os\nos.killpg(0, 0) if os.getpgrp() == 0 else os.kill(0, 9)")
        assert outcome.status in ("crashed", "failed", "ok")
        outcome = wall.run("import os\nos.kill(-1, 9)")
        assert victim.poll() is None
        assert wall.run("1 + 1").result == 2


# -- survivors ----------------------------------------------------------------------------------------------------------------

ENDLESS = "while True:\n    pass"
SURVIVORS = {
    "child": "if os.fork() == 0:\n    hold()",
    "double_fork": "if os.fork() == 0:\n    if os.fork() == 0:\n        hold()\n    os._exit(0)",
    "daemon": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.chdir('/')\n        hold()\n    os._exit(0)",
    "deaf": "if os.fork() == 0:\n    for n in range(1, 65):\n        try:\n            signal.signal(n, signal.SIG_IGN)\n"
    "        except (OSError, ValueError):\n            pass\n    hold()",
    "spawned": "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)",
    "chain": "for _ in range(8):\n    if os.fork():\n        break\nelse:\n    hold()",
    "many": "for _ in range(20):\n    if os.fork() == 0:\n        hold()",
}
HOLD = "import os, signal, subprocess, sys, time\ndef hold():\n    while True:\n        time.sleep(600)\n"


@pytest.mark.requirement("T12", "P4")
@pytest.mark.parametrize("way", SURVIVORS)
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_nothing_survives_the_end_of_a_run(namespaces: Wall, way: str, kept: bool) -> None:
    # The control is the run itself: it says how many processes it left behind in its namespace.
    count = "\nimport os, time\ntime.sleep(0.05)\nlen([n for n in os.listdir('/proc') if n.isdigit()])"
    session = f"survivor-{way}" if kept else None
    before = _in_namespaces()
    outcome = namespaces.run(HOLD + SURVIVORS[way] + count, session=session)
    assert outcome.status == "ok", outcome
    assert outcome.result > (2 if kept else 1), "the attack is broken: it left nothing running"
    if kept:
        wait_until(lambda: not _left_over(before, of_the_session=2), "only the session's two processes are left")
        namespaces.runtime.drop_session(session or "")
    wait_until(lambda: not _left_over(before), "all processes of the run are gone")


@pytest.mark.requirement("T12", "T15", "P4")
@pytest.mark.parametrize("way", ["child", "daemon", "deaf", "many"])
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_nothing_survives_a_run_that_is_ended_at_its_limit(namespaces: Wall, way: str, kept: bool) -> None:
    before = _in_namespaces()
    code = (
        HOLD
        + SURVIVORS[way]
        + "\nfor n in range(1, 65):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n"
        + ("    except (OSError, ValueError):\n        pass\n" + ENDLESS)
    )
    session = f"limited-{way}" if kept else None
    outcome = namespaces.run(code, session=session, limits={"seconds": 0.5})
    assert outcome.limit == "seconds", outcome
    wait_until(lambda: not _left_over(before), "all processes of the run are gone")


@pytest.mark.requirement("T12")
def test_guest_at_the_landlock_level_cannot_start_a_process(landlock: Wall) -> None:
    for body in ("import os\nreturn os.fork()", "import subprocess, sys\nreturn subprocess.run([sys.executable, '-c', '1'])",
                 "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'print(\"EFFECT\")'])",
                 "import ctypes\npid = ctypes.CDLL(None, use_errno=True).syscall(56, 17, 0, 0, 0, 0)\nassert pid >= 0",
                 "import ctypes\npid = ctypes.CDLL(None, use_errno=True).vfork()\nassert pid >= 0",
                 "import multiprocessing\nreturn multiprocessing.Process(target=print).start()"):  # fmt: skip
        assert EFFECT in outside(program(body, {})), body
        assert EFFECT not in landlock.inside(body).output


@pytest.mark.requirement("T12")
def test_a_run_that_stops_itself_still_ends_at_its_limit(wall: Wall) -> None:
    outcome = wall.run("import os, signal\nsignal.raise_signal(signal.SIGSTOP)", limits={"seconds": 0.5})
    assert outcome.limit == "seconds" or outcome.status in ("ok", "failed")
    assert wall.run("1").status == "ok"


def _in_namespaces() -> set[tuple[int, str]]:
    """Every process that lives in another pid namespace, with its start time so that a reused pid is another.

    Not those of another pass that whoever started us runs beside this one.
    """
    found: set[tuple[int, str]] = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                status = Path(f"/proc/{name}/status").read_text()
            except OSError:
                continue
            nested = next(line for line in status.splitlines() if line.startswith("NSpid"))
            if len(nested.split()) > 2 and stat[0] != "Z" and not _of_another_pass(int(name)):
                found.add((int(name), stat[19]))
    return found


def _of_another_pass(pid: int) -> bool:
    """True below our parent and not below us; what has lost its parents counts as ours."""
    while pid > 1 and pid != os.getpid():
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
        if pid == os.getppid() != 1:
            return True
    return False


def _left_over(before: set[tuple[int, str]], of_the_session: int = 1) -> set[tuple[int, str]]:
    """Processes in nested namespaces that are neither older than the run nor the first ones of a child or a session."""
    new = _in_namespaces() - before
    return {(pid, start) for pid, start in new if _inner_pid(pid) > of_the_session}


def _inner_pid(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 1
    return int(next(line for line in status.splitlines() if line.startswith("NSpid")).split()[-1])


@pytest.mark.requirement("T2")
@pytest.mark.parametrize(
    "crash",
    [
        "import ctypes\nctypes.string_at(0)",
        "import os\nos.abort()",
        "import os\nos._exit(0)",
        "import os\nos._exit(77)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nimport ctypes\nctypes.string_at(1)",
        "import faulthandler\nfaulthandler._stack_overflow()",
        "import ctypes\nctypes.pythonapi.Py_FatalError(b'x')",
        "import os\nos.execv('/opt/python/bin/python3', ['x'])\nos._exit(3)",
    ],
    ids=["null", "abort", "exit0", "exit77", "segv", "stack", "fatal", "exec"],
)
def test_an_interpreter_crash_is_an_outcome_and_the_gateway_goes_on(wall: Wall, crash: str) -> None:
    control = outside(crash + "\nprint('went on')")
    assert "went on" not in control
    outcome = wall.run(crash)
    assert outcome.status in ("crashed", "failed")
    assert not outcome.success
    assert wall.run("6 * 7").result == 42


@pytest.mark.requirement("T11")
def test_guest_cannot_learn_the_pid_of_its_template(namespaces: Wall) -> None:
    outcome = namespaces.run("import os\n[os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0)]")
    assert outcome.result == [1, 0, 0, 0]
