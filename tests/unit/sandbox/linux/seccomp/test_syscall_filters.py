"""The filter, run in a small BPF machine: what it answers for every call on both architectures."""

import errno
import struct

import pytest

from gristmill.sandbox.linux import kernel
from gristmill.sandbox.linux.seccomp import syscall_filters as filters

ALLOW, KILL = "allow", "kill"


def answer(program: bytes, number: int, *, arch: int, arguments: tuple[int, ...] = ()) -> str:
    """What the kernel would answer to this call."""
    packed = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch, 0, *(arguments + (0,) * (6 - len(arguments))))
    code = list(struct.iter_unpack("<HBBI", program))
    at = value = 0
    while True:
        op, yes, no, k = code[at]
        at += 1
        if op == filters.LOAD:
            (value,) = struct.unpack_from("<I", packed, k)
        elif op == filters.AND:
            value &= k
        elif op == filters.JUMP:
            at += k
        elif op == filters.RETURN:
            return {0x7FFF0000: ALLOW, 0x80000000: KILL}.get(k) or errno.errorcode[k & 0xFFFF]
        else:
            true = {
                filters.EQUAL: value == k,
                filters.GREATER: value > k,
                filters.AT_LEAST: value >= k,
                filters.HAS_BITS: bool(value & k),
            }[op]
            at += yes if true else no


@pytest.mark.parametrize("machine", filters.ARCHITECTURES)
@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_every_number_is_answered_as_the_policy_file_says(machine: str, level: str) -> None:
    program, policy = filters.build_code_filter(level, machine), filters.read_policy(level)
    numbers, arch = kernel.get_syscall_tables()[machine], filters.ARCHITECTURES[machine]
    special = {rule.syscall for rule in policy.rules}
    names = {number: name for name, number in numbers.items()}
    for number in range(1024):
        name = names.get(number)
        if name in special:
            continue
        if name is None:
            expected = "EPERM" if number <= max(numbers.values()) else "ENOSYS"
        elif name in policy.answers:
            expected = errno.errorcode[policy.answers[name]]
        else:
            expected = ALLOW if name in policy.allow else "EPERM"
        assert (name, answer(program, number, arch=arch)) == (name, expected)


@pytest.mark.parametrize("machine", filters.ARCHITECTURES)
def test_arguments_are_looked_at(machine: str) -> None:
    program, numbers, arch = (
        filters.build_code_filter("namespaces", machine),
        kernel.get_syscall_tables()[machine],
        filters.ARCHITECTURES[machine],
    )

    def ask(name: str, *arguments: int) -> str:
        return answer(program, numbers[name], arch=arch, arguments=arguments)

    assert [ask("clone", flags) for flags in (17, 0x10000 | 0x100, 0x10000000 | 17, 0x20000000, 0x00020000, 0x40000000)] == [
        ALLOW, ALLOW, "EPERM", "EPERM", "EPERM", "EPERM",
    ]  # fmt: skip
    assert [ask("socketpair", family, 1) for family in (1, 2, 16)] == [ALLOW, "EACCES", "EACCES"]
    assert [ask("socketpair", 1, kind) for kind in (1 | 0o2000000, 5, 2, 2 | 0o4000, 3)] == [
        ALLOW,
        ALLOW,
        "EACCES",
        "EACCES",
        "EACCES",
    ]
    assert [ask("ioctl", 0, request) for request in (0x541B, 0x5412, 0x5413)] == [ALLOW, "ENOTTY", "ENOTTY"]
    assert [ask("prctl", option) for option in (15, 1, 4, 22, 38)] == [ALLOW, "EPERM", "EPERM", "EPERM", "EPERM"]
    # The high half of a 32-bit argument is not looked at by the kernel, so it must not matter to us either.
    assert ask("socketpair", (7 << 32) | 2, 1) == "EACCES"


def test_at_the_landlock_level_only_threads_can_be_made() -> None:
    program, arch = filters.build_code_filter("landlock", "x86_64"), filters.ARCHITECTURES["x86_64"]
    clone = kernel.get_syscall_tables()["x86_64"]["clone"]
    assert answer(program, clone, arch=arch, arguments=(17,)) == "EPERM"
    assert answer(program, clone, arch=arch, arguments=(0x10000,)) == ALLOW


@pytest.mark.parametrize("machine", filters.ARCHITECTURES)
def test_at_the_landlock_level_no_other_process_can_be_named(machine: str) -> None:
    program, numbers, arch = (
        filters.build_code_filter("landlock", machine),
        kernel.get_syscall_tables()[machine],
        filters.ARCHITECTURES[machine],
    )

    def ask(name: str, *arguments: int) -> str:
        return answer(program, numbers[name], arch=arch, arguments=arguments)

    assert [ask("prlimit64", 0), ask("prlimit64", 1)] == [ALLOW, "EPERM"]
    assert [ask("sched_setaffinity", 0), ask("sched_setaffinity", 1)] == [ALLOW, "EPERM"]
    assert [ask("fcntl", 3, command) for command in (1, 4, 8, 10, 15)] == [ALLOW, ALLOW, "EPERM", "EPERM", "EPERM"]
    assert ask("tgkill", 1, 1, 9) == "EPERM"


def test_other_gates_kill() -> None:
    for program in (
        filters.build_code_filter("namespaces", "x86_64"),
        filters.build_seal_filter("x86_64"),
        filters.build_template_filter("x86_64"),
    ):
        assert answer(program, 1, arch=0x40000003) == KILL
        assert answer(program, 1 | filters.X32_BIT, arch=filters.ARCHITECTURES["x86_64"]) == KILL


@pytest.mark.parametrize("machine", filters.ARCHITECTURES)
def test_the_two_stacked_filters_are_the_one_filter(machine: str) -> None:
    """A child runs under the template's filter and the seal together: the stricter answer counts."""
    whole = filters.build_code_filter("namespaces", machine)
    template, seal = filters.build_template_filter(machine), filters.build_seal_filter(machine)
    arch = filters.ARCHITECTURES[machine]
    for number in range(600):
        for first in (0, 1, 15, 17, 0x10000000, 0x541B):
            for second in (0, 1, 2, 0x541B):
                arguments = (first, second)
                stacked = [answer(program, number, arch=arch, arguments=arguments) for program in (template, seal)]
                refused = [said for said in stacked if said != ALLOW]
                assert (number, answer(whole, number, arch=arch, arguments=arguments)) == (
                    number,
                    refused[0] if refused else ALLOW,
                )


def test_names_in_the_policy_file_exist() -> None:
    known = {name for table in kernel.get_syscall_tables().values() for name in table}
    assert (filters.read_policy("namespaces").allow | filters.read_setup_calls()) - known == set()
