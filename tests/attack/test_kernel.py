"""The kernel's surface: every system call by number against the policy file, the other gates, and what attackers like best."""

import errno
import json
import platform
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gristmill.sandbox.linux import kernel
from gristmill.sandbox.linux.seccomp import syscall_filters as filters
from tests.attack.wall import EFFECT, TRYING, Wall, outside

PROGRAMS = Path(__file__).parent / "programs"
HIGHEST = 600
FAR = [1000, 4095, 1 << 20, (1 << 30) - 1]
EPERM, ENOSYS = f"errno {errno.EPERM}", f"errno {errno.ENOSYS}"

ENDS_OR_BLOCKS = {
    "exit": "ends the process by design",
    "exit_group": "ends the process by design",
    "pause": "waits for a signal by design",
    "rt_sigreturn": "rewrites the registers from the stack",
    "vfork": "borrows the caller's stack, which ctypes does not survive",
    "alarm": "replaces the sweep's own timer",
}
"""Allowed calls that are not swept, and why."""
OWN_ANSWER = {
    "mlock": f"errno {errno.EPERM}",  # RLIMIT_MEMLOCK is 0
    "mlockall": f"errno {errno.EPERM}",
    "futex": f"errno {errno.ENOSYS}",  # an unknown operation
    "get_mempolicy": f"errno {errno.ENOSYS}",  # a kernel without NUMA
}
"""Allowed calls that the kernel itself answers in the words of a refusal."""
PAST_EVERY_FILTER = frozenset(("uretprobe", "uprobe"))
"""Since Linux 6.14 seccomp lets these two pass by design; outside a trampoline of the kernel's own making they only fail."""
NOT_IN_THIS_KERNEL = frozenset(("futex_wake", "futex_wait", "futex_requeue", "cachestat", "fchmodat2", "pkey_alloc", "pkey_free",
                                "pkey_mprotect", "set_thread_area", "get_thread_area", "epoll_pwait2", "membarrier"))  # fmt: skip
"""Allowed calls that older or smaller kernels answer with ENOSYS."""


def _load(name: str, **values: Any) -> str:
    return f"values = {values!r}\n" + (PROGRAMS / f"{name}.py").read_text()


def _lets_garbage_pass(rule: filters.SyscallRule) -> bool:
    """Whether a rule allows the call with arguments that are all ones."""
    for check in rule.checks:
        value = 0xFFFFFFFF & check.mask
        if (check.only and value not in check.only) or value in check.never:
            return False
        if value & check.without_bits or (check.with_bits and not value & check.with_bits):
            return False
    return True


@pytest.mark.requirement("T13")
def test_every_system_call_is_answered_as_the_policy_file_says(wall: Wall) -> None:
    rules = filters.read_policy(wall.level)
    names = {number: name for name, number in kernel.NUMBERS.items()}
    conditional = {rule.syscall: rule for rule in rules.rules}
    free = {number for number, name in names.items() if name in rules.allow and name not in conditional}
    free |= {kernel.NUMBERS[name] for name, rule in conditional.items() if name in kernel.NUMBERS and _lets_garbage_pass(rule)}
    skipped = {kernel.NUMBERS[name] for name in ENDS_OR_BLOCKS if name in kernel.NUMBERS and name in rules.allow}
    skipped |= {kernel.NUMBERS[name] for name in PAST_EVERY_FILTER if name in kernel.NUMBERS}
    numbers = [n for n in [*range(HIGHEST + 1), *FAR] if n not in skipped]
    fork = wall.level == "namespaces"
    wrong: dict[str, str] = {}
    outcome = wall.run(_load("sweep", numbers=numbers, fork=fork))
    assert outcome.status == "ok", outcome
    for number in numbers:
        seen, name = outcome.result[str(number)], names.get(number, "")
        if number in free:
            right = seen == OWN_ANSWER.get(name) or (seen == ENOSYS and name in NOT_IN_THIS_KERNEL)
            right = right or seen not in (EPERM, ENOSYS, "signal 31")
        elif name in rules.answers:
            right = seen == f"errno {rules.answers[name]}"
        elif name in conditional:
            right = seen == f"errno {conditional[name].errno}"
        else:
            right = seen == (ENOSYS if number > max(names) else EPERM)
        if not right:
            wrong[f"{number} {name}"] = seen
    assert wrong == {}


@pytest.mark.requirement("T13")
def test_the_policy_file_names_only_calls_that_exist_and_each_once(wall: Wall) -> None:
    content = tomllib.loads(filters.POLICY_FILE.read_text(encoding="utf-8"))
    listed = " ".join(content["allow"].values()).split()
    known = {name for table in kernel.get_syscall_tables().values() for name in table}
    assert sorted(listed) == sorted(set(listed))
    assert set(listed) - known == set()
    assert filters.read_setup_calls() & set(listed) == set(), "a set-up call may not also be allowed to code"
    assert set(content["answer"]) & set(listed) == set()


@pytest.mark.requirement("T13")
@pytest.mark.parametrize("name", ["read", "getpid", "write", "execve", "ptrace", "socket"])
def test_a_system_call_by_an_x32_number_is_death(wall: Wall, name: str) -> None:
    if kernel.MACHINE != "x86_64":
        pytest.skip("allowed: x32 exists on x86_64 only")
    number = kernel.NUMBERS[name] | filters.X32_BIT
    outcome = wall.run(_load("sweep", numbers=[number], fork=False))
    assert outcome.status == "crashed"
    assert "SIGSYS" in (outcome.error or "")


@pytest.mark.requirement("T13")
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_the_32_bit_gate_is_death(wall: Wall, kept: bool) -> None:
    if kernel.MACHINE != "x86_64":
        pytest.skip("allowed: the gate exists on x86_64 only")
    code = (PROGRAMS / "gate32.py").read_text()
    control = outside(code)
    assert TRYING in control
    outcome = wall.run(code, session="gate" if kept else None)
    assert TRYING in outcome.output
    assert EFFECT not in outcome.output
    assert outcome.status == "crashed"
    if EFFECT in control and not kept:  # a kernel with 32-bit emulation: it must be our filter that killed
        assert "SIGSYS" in (outcome.error or "")


ARGUMENTS = {
    "clone_newuser": ("clone", [0x10000000 | 17, 0, 0, 0, 0]),
    "clone_newns": ("clone", [0x20000 | 17, 0, 0, 0, 0]),
    "clone_newpid": ("clone", [0x20000000 | 17, 0, 0, 0, 0]),
    "clone_newnet": ("clone", [0x40000000 | 17, 0, 0, 0, 0]),
    "clone_newtime": ("clone", [0x80 | 17, 0, 0, 0, 0]),
    "clone_high_bits": ("clone", [(1 << 40) | 0x10000000 | 17, 0, 0, 0, 0]),
    "clone3": ("clone3", [0, 88]),
    "unshare_user": ("unshare", [0x10000000]),
    "unshare_nothing": ("unshare", [0]),
    "prctl_dumpable": ("prctl", [4, 1, 0, 0, 0]),
    "prctl_seccomp": ("prctl", [22, 1, 0, 0, 0]),
    "prctl_no_new_privs_off": ("prctl", [38, 0, 0, 0, 0]),
    "prctl_pdeathsig_off": ("prctl", [1, 0, 0, 0, 0]),
    "prctl_subreaper": ("prctl", [36, 1, 0, 0, 0]),
    "prctl_ptracer": ("prctl", [0x59616D61, -1, 0, 0, 0]),
    "prctl_high_bits": ("prctl", [(1 << 32) | 4, 1, 0, 0, 0]),
    "ioctl_tiocsti": ("ioctl", [0, 0x5412, 0]),
    "ioctl_tioclinux": ("ioctl", [0, 0x541C, 0]),
    "ioctl_high_bits": ("ioctl", [0, (1 << 32) | 0x5412, 0]),
    "socketpair_inet": ("socketpair", [2, 1, 0, 0]),
    "seccomp_again": ("seccomp", [0, 0, 0]),
    "setns": ("setns", [0, 0]),
    "capset": ("capset", [0, 0]),
    "mount_setattr": ("mount_setattr", [-100, 0, 0, 0, 0]),
    "landlock_restrict_self": ("landlock_restrict_self", [0, 0]),
    "setrlimit": ("setrlimit", [4, 0]),
    "bpf": ("bpf", [0, 0, 0]),
    "perf_event_open": ("perf_event_open", [0, 0, -1, -1, 0]),
    "userfaultfd": ("userfaultfd", [0]),
    "keyctl": ("keyctl", [0, -3, 0, 0, 0]),
    "add_key": ("add_key", [0, 0, 0, 0, -3]),
    "request_key": ("request_key", [0, 0, 0, 0]),
    "init_module": ("init_module", [0, 0, 0]),
    "finit_module": ("finit_module", [0, 0, 0]),
    "kexec_load": ("kexec_load", [0, 0, 0, 0]),
    "reboot": ("reboot", [0, 0, 0, 0]),
    "swapon": ("swapon", [0, 0]),
    "syslog": ("syslog", [3, 0, 0]),
    "settimeofday": ("settimeofday", [0, 0]),
    "clock_settime": ("clock_settime", [0, 0]),
    "adjtimex": ("adjtimex", [0]),
    "iopl": ("iopl", [3]),
    "personality": ("personality", [0x40000]),
    "memfd_create": ("memfd_create", [0, 0]),
    "memfd_secret": ("memfd_secret", [0]),
    "shmget": ("shmget", [0, 4096, 0o1600]),
    "msgget": ("msgget", [0, 0o1600]),
    "semget": ("semget", [0, 1, 0o1600]),
    "mq_open": ("mq_open", [0, 0, 0, 0]),
    "process_madvise": ("process_madvise", [0, 0, 0, 0, 0]),
    "kcmp": ("kcmp", [1, 1, 0, 0, 0]),
    "name_to_handle_at": ("name_to_handle_at", [-100, 0, 0, 0, 0]),
    "open_by_handle_at": ("open_by_handle_at", [0, 0, 0]),
    "fanotify_init": ("fanotify_init", [0, 0]),
    "quotactl": ("quotactl", [0, 0, 0, 0]),
    "acct": ("acct", [0]),
    "vmsplice": ("vmsplice", [0, 0, 0, 0]),
    "lookup_dcookie": ("lookup_dcookie", [0, 0, 0]),
    "modify_ldt": ("modify_ldt", [0, 0, 0]),
    "setuid": ("setuid", [0]),
    "setxattr": ("setxattr", [0, 0, 0, 0, 0]),
    "sethostname": ("sethostname", [0, 0]),
    "ptrace": ("ptrace", [16, 1, 0, 0]),
    "process_vm_readv": ("process_vm_readv", [1, 0, 0, 0, 0, 0]),
    "process_vm_writev": ("process_vm_writev", [1, 0, 0, 0, 0, 0]),
    "pidfd_getfd": ("pidfd_getfd", [0, 0, 0]),
    "io_uring_setup": ("io_uring_setup", [8, 0]),
    "io_uring_enter": ("io_uring_enter", [0, 0, 0, 0, 0, 0]),
    "io_uring_register": ("io_uring_register", [0, 0, 0, 0]),
    "socket": ("socket", [2, 1, 0]),
    "connect": ("connect", [3, 0, 0]),
    "bind": ("bind", [3, 0, 0]),
    "listen": ("listen", [3, 1]),
    "accept4": ("accept4", [3, 0, 0, 0]),
    "mount": ("mount", [0, 0, 0, 0, 0]),
    "umount2": ("umount2", [0, 0]),
    "pivot_root": ("pivot_root", [0, 0]),
    "chroot": ("chroot", [0]),
    "move_mount": ("move_mount", [0, 0, 0, 0, 0]),
    "open_tree": ("open_tree", [0, 0, 0]),
    "fsopen": ("fsopen", [0, 0]),
    "mknodat": ("mknodat", [-100, 0, 0, 0]),
    "setresuid": ("setresuid", [0, 0, 0]),
    "setgroups": ("setgroups", [0, 0]),
    "sched_setscheduler": ("sched_setscheduler", [0, 1, 0]),
    "setpriority": ("setpriority", [0, 0, -5]),
    "ioprio_set": ("ioprio_set", [1, 0, 0]),
    "rt_tgsigqueueinfo": ("rt_tgsigqueueinfo", [1, 1, 0, 0]),
}


@pytest.mark.requirement("T13", "T6", "T14")
def test_dangerous_calls_are_refused_by_the_filter_and_not_only_by_the_kernel(wall: Wall) -> None:
    # A refusal by the filter leaves no trace of the kernel having looked at the arguments: never EFAULT, EINVAL, EBADF.
    wanted = {name: (kernel.NUMBERS[call], arguments) for name, (call, arguments) in ARGUMENTS.items() if call in kernel.NUMBERS}
    body = """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall.restype = ctypes.c_long
        seen = {}
        for name, (number, arguments) in values["calls"].items():
            ctypes.set_errno(0)
            answer = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a if a < 1 << 63 else a - (1 << 64)) for a in arguments])
            seen[name] = ctypes.get_errno() if answer == -1 else -answer
        import json
        return json.dumps(seen)
    """
    outcome = wall.inside(body, calls=wanted)
    line = next(line for line in outcome.output.splitlines() if line.startswith(EFFECT))
    seen = json.loads(line.removeprefix(EFFECT))
    allowed = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOTTY}
    assert {name: code for name, code in seen.items() if code not in allowed} == {}
    assert len(seen) > 50 or platform.machine() != "x86_64"


@pytest.mark.requirement("T13")
def test_guest_cannot_make_a_user_namespace(wall: Wall) -> None:
    body = "import ctypes\nassert ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0"
    wall.holds(body)


@pytest.mark.requirement("T13")
def test_the_filter_holds_in_threads_and_in_programs_that_code_starts(namespaces: Wall) -> None:
    attempt = "import ctypes; print(ctypes.CDLL(None, use_errno=True).unshare(0x10000000))"
    outcome = namespaces.run(f"""
import subprocess, sys, threading, ctypes, os
answers = [subprocess.run([sys.executable, "-c", {attempt!r}], capture_output=True, text=True).stdout.strip()]
thread = threading.Thread(target=lambda: answers.append(ctypes.CDLL(None).unshare(0x10000000)))
thread.start(); thread.join()
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, str(ctypes.CDLL(None).unshare(0x10000000)).encode()); os._exit(0)
answers.append(os.read(read, 9).decode())
[str(a) for a in answers]
""")
    assert outcome.result == ["-1", "-1", "-1"], outcome
    assert outside(attempt).strip() == "0"
