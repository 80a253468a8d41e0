"""Assembles the allow-list of system calls into a BPF program, on the host, from the policy files next to this one."""

import errno
import functools
import struct
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill.sandbox.linux import kernel

POLICY_FILE = Path(__file__).with_name("seccomp.toml")
CONFINED_FILE = Path(__file__).with_name("confined.toml")
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

LOAD, JUMP, EQUAL, GREATER, AT_LEAST, HAS_BITS, RETURN, AND = 0x20, 0x05, 0x15, 0x25, 0x35, 0x45, 0x06, 0x54
ALLOW, KILL = 0x7FFF0000, 0x80000000
NUMBER, ARCH, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ERRNO = 0x00050000

Label = str
Instruction = tuple[int, int | Label, int | Label, int | Label]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentCheck:
    """The conditions that one argument of a system call must meet."""

    argument: int
    mask: int = 0xFFFFFFFF
    only: tuple[int, ...] = ()
    never: tuple[int, ...] = ()
    without_bits: int = 0
    with_bits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyscallRule:
    """A system call that is allowed for some arguments only: all checks must pass.

    With ``if_bits`` (an argument and bits) they count only if that argument has one of these bits.
    """

    syscall: str
    checks: tuple[ArgumentCheck, ...]
    if_bits: tuple[int, int] | None = None
    errno: int = errno.EPERM


@dataclass(frozen=True, slots=True, kw_only=True)
class SyscallPolicy:
    """Which calls are allowed, which of them for some arguments only, and which are answered with a special error."""

    allow: frozenset[str]
    rules: tuple[SyscallRule, ...]
    answers: dict[str, int] = field(default_factory=dict[str, int])


@functools.cache
def _read_policy_file() -> dict[str, Any]:
    return tomllib.loads(POLICY_FILE.read_text(encoding="utf-8"))


def read_setup_calls() -> frozenset[str]:
    """Returns the calls that only the template makes."""
    return frozenset(_read_policy_file()["setup"]["names"].split())


def read_policy(level: str) -> SyscallPolicy:
    """Reads from the policy file what code may call at ``level``."""
    content = _read_policy_file()
    allow = {name for group in content["allow"].values() for name in group.split()}
    rules = [_read_rule(rule) for rule in content["when"]]
    if level == "landlock":
        allow -= set(content["landlock_level"]["without"].split())
        stricter = [_read_rule(rule) for rule in content["landlock_level"]["when"]]
        rules = [rule for rule in rules if rule.syscall not in {one.syscall for one in stricter}] + stricter
    answers = {name: getattr(errno, code) for name, code in content["answer"].items()}
    return SyscallPolicy(allow=frozenset(allow), rules=tuple(rules), answers=answers)


def _read_rule(rule: dict[str, Any]) -> SyscallRule:
    checks = tuple(_read_check(check) for check in rule["checks"])
    only_if = rule.get("if_bits")
    return SyscallRule(
        syscall=rule["syscall"],
        checks=checks,
        errno=getattr(errno, rule.get("errno", "EPERM")),
        if_bits=(only_if["argument"], only_if["bits"]) if only_if else None,
    )


def _read_check(check: dict[str, Any]) -> ArgumentCheck:
    return ArgumentCheck(
        argument=check["argument"],
        mask=check.get("mask", 0xFFFFFFFF),
        only=tuple(check.get("only", ())),
        never=tuple(check.get("never", ())),
        without_bits=check.get("without_bits", 0),
        with_bits=check.get("with_bits", 0),
    )


def build_code_filter(level: str, machine: str = kernel.MACHINE) -> bytes:
    """Builds the complete filter of a child."""
    return _assemble_filter(read_policy(level), machine)


def build_program_filter(level: str, *, jit: bool, machine: str = kernel.MACHINE) -> bytes:
    """Builds the complete filter of a child that becomes another program; without ``jit`` no page is writable and executable."""
    content = _read_policy_file()["program"]
    base = read_policy(level)
    allow = (base.allow | set(content["also"].split())) - set(content["without"].split())
    own = [
        _read_rule(rule)
        for rule in (*content["when"], *(() if jit else content["without_jit"]))
        if rule["syscall"] in base.allow or rule["syscall"] == "clone"
    ]
    replaced = {rule.syscall for rule in own}
    rules = tuple(rule for rule in base.rules if rule.syscall not in replaced) + tuple(own)
    return _assemble_filter(SyscallPolicy(allow=frozenset(allow), rules=rules, answers=base.answers), machine)


def build_template_filter(machine: str = kernel.MACHINE) -> bytes:
    """Builds the filter of the template: the calls of children and the set-up calls. Children inherit it."""
    base = read_policy("namespaces")
    setup = read_setup_calls()
    rules = tuple(rule for rule in base.rules if rule.syscall not in setup)
    return _assemble_filter(SyscallPolicy(allow=base.allow | setup, rules=rules, answers=base.answers), machine)


def build_seal_filter(machine: str = kernel.MACHINE) -> bytes:
    """Builds the small filter that a child adds to the inherited one: it takes the set-up calls away."""
    numbers = kernel.get_syscall_tables()[machine]
    setup = read_setup_calls()
    program = _Program()
    _add_head(program, machine)
    for rule in read_policy("namespaces").rules:
        if rule.syscall in setup:
            _add_rule(program, numbers[rule.syscall], rule)
            setup -= {rule.syscall}
    _end_with_refusals(program, set(setup), machine)
    return program.build()


def build_confined_filter(*, network: bool, machine: str = kernel.MACHINE) -> bytes:
    """Builds the filter of a confined tool server: everything is allowed except what its policy file names."""
    content = tomllib.loads(CONFINED_FILE.read_text(encoding="utf-8"))
    also = content["with_network" if network else "without_network"]
    answers = content["answer"] | also.get("answer", {})
    numbers = kernel.get_syscall_tables()[machine]
    program = _Program()
    _add_head(program, machine)
    for name in sorted(answers.keys() & numbers.keys()):
        program.add(EQUAL, 0, 1, numbers[name])
        program.add(RETURN, k=_ERRNO | getattr(errno, answers[name]))
    for rule in [_read_rule(rule) for rule in (*content["when"], *also.get("when", ()))]:
        if rule.syscall in numbers:
            _add_rule(program, numbers[rule.syscall], rule)
    _end_with_refusals(program, set(content["refuse"].split()), machine)
    return program.build()


def _end_with_refusals(program: "_Program", names: set[str], machine: str) -> None:
    """Ends the program: these calls are refused, all others are allowed."""
    numbers = kernel.get_syscall_tables()[machine]
    for name in sorted(names & set(numbers), key=numbers.__getitem__):
        program.add(EQUAL, "refuse", 0, numbers[name])
    program.add(RETURN, k=ALLOW)
    program.place_label("refuse")
    program.add(RETURN, k=_ERRNO | errno.EPERM)


class _Program:
    """A BPF program under construction; jump targets may be labels."""

    def __init__(self) -> None:
        self.code: list[Instruction] = []
        self.labels: dict[Label, int] = {}

    def add(self, op: int, yes: int | Label = 0, no: int | Label = 0, k: int | Label = 0) -> None:
        self.code.append((op, yes, no, k))

    def place_label(self, name: Label) -> None:
        self.labels[name] = len(self.code)

    def make_label(self) -> Label:
        return f"at{len(self.code)}.{len(self.labels)}"

    def build(self) -> bytes:
        out = bytearray()
        for index, (op, yes, no, k) in enumerate(self.code):
            out += struct.pack("<HBBI", op, self._distance(yes, index), self._distance(no, index), self._distance(k, index))
        return bytes(out)

    def _distance(self, target: int | Label, at: int) -> int:
        return target if isinstance(target, int) else self.labels[target] - at - 1


def _add_head(program: _Program, machine: str) -> None:
    program.add(LOAD, k=ARCH)
    program.add(EQUAL, 1, 0, ARCHITECTURES[machine])
    program.add(RETURN, k=KILL)  # another entry into the kernel (int 0x80) has other call numbers
    program.add(LOAD, k=NUMBER)
    if machine == "x86_64":
        program.add(AT_LEAST, 0, 1, X32_BIT)
        program.add(RETURN, k=KILL)


def _add_rule(program: _Program, number: int, rule: SyscallRule) -> None:
    end = program.make_label()
    program.add(EQUAL, 0, end, number)
    if rule.if_bits is not None:
        argument, bits = rule.if_bits
        program.add(LOAD, k=ARGUMENTS + 8 * argument)
        program.add(HAS_BITS, 1, 0, bits)
        program.add(RETURN, k=ALLOW)
    for check in rule.checks:
        _add_check(program, check, _ERRNO | rule.errno)
    program.add(RETURN, k=ALLOW)
    program.place_label(end)


def _add_check(program: _Program, check: ArgumentCheck, refuse: int) -> None:
    program.add(LOAD, k=ARGUMENTS + 8 * check.argument)  # low word: the kernel takes these arguments as 32 bits
    if check.mask != 0xFFFFFFFF:
        program.add(AND, k=check.mask)
    if check.without_bits:
        program.add(HAS_BITS, 0, 1, check.without_bits)
        program.add(RETURN, k=refuse)
    if check.with_bits:
        program.add(HAS_BITS, 1, 0, check.with_bits)
        program.add(RETURN, k=refuse)
    for value in check.never:
        program.add(EQUAL, 0, 1, value)
        program.add(RETURN, k=refuse)
    for place, value in enumerate(check.only):
        program.add(EQUAL, len(check.only) - place, 0, value)  # jumps past the other values and the refusal
    if check.only:
        program.add(RETURN, k=refuse)


def _assemble_filter(rules: SyscallPolicy, machine: str) -> bytes:
    numbers = kernel.get_syscall_tables()[machine]
    program = _Program()
    _add_head(program, machine)
    for name, code in rules.answers.items():
        if name in numbers:
            program.add(EQUAL, 0, 1, numbers[name])
            program.add(RETURN, k=_ERRNO | code)
    for rule in rules.rules:
        if rule.syscall in numbers:
            _add_rule(program, numbers[rule.syscall], rule)
    allowed = _merge_ranges(sorted(numbers[name] for name in rules.allow if name in numbers))
    _add_range_search(program, allowed)
    program.place_label("refuse")
    program.add(GREATER, 1, 0, max(numbers.values()))
    program.add(RETURN, k=_ERRNO | errno.EPERM)
    program.add(RETURN, k=_ERRNO | errno.ENOSYS)
    return program.build()


def _merge_ranges(numbers: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def _add_range_search(program: _Program, ranges: list[tuple[int, int]]) -> None:
    """Adds a binary search over the allowed ranges; long jumps use JUMP, whose offset has 32 bits."""
    if len(ranges) == 1:
        low, high = ranges[0]
        program.add(AT_LEAST, 0, 1, low)
        program.add(GREATER, 0, 1, high)
        program.add(JUMP, k="refuse")
        program.add(RETURN, k=ALLOW)
        return
    middle = len(ranges) // 2
    right = program.make_label()
    program.add(AT_LEAST, 0, 1, ranges[middle][0])
    program.add(JUMP, k=right)
    _add_range_search(program, ranges[:middle])
    program.place_label(right)
    _add_range_search(program, ranges[middle:])
