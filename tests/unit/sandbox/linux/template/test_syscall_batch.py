"""Prepared system calls: the machine code and its stand-in in Python must walk alike, and stop alike."""

import ctypes
import errno
import os
from pathlib import Path

import pytest

from gristmill.sandbox.linux import kernel
from gristmill.sandbox.linux.template import syscall_batch as batch
from gristmill.sandbox.linux.template.syscall_batch import SyscallBatch, SyscallWalker

AT_FDCWD = -100


@pytest.fixture(params=["native", "slowly"])
def walker(request: pytest.FixtureRequest) -> SyscallWalker:
    if request.param == "slowly":
        return batch.PYTHON_WALKER
    found = batch.load_native_walker()
    if found is None:
        pytest.skip(f"no machine code for {kernel.MACHINE}")
    return found


def make_folder(calls: SyscallBatch, path: Path) -> batch.PreparedSyscall:
    return calls.add("mkdirat", AT_FDCWD, str(path), 0o777)


def test_calls_are_made_in_order(walker: SyscallWalker, tmp_path: Path) -> None:
    calls = SyscallBatch()
    make_folder(calls, tmp_path / "a")
    make_folder(calls, tmp_path / "a" / "b")
    calls.walk(walker)
    assert (tmp_path / "a" / "b").is_dir()


def test_the_first_failure_ends_the_walk_and_names_its_step(walker: SyscallWalker, tmp_path: Path) -> None:
    calls = SyscallBatch()
    make_folder(calls, tmp_path / "a")
    calls.step = "the second step"
    make_folder(calls, tmp_path / "a")
    make_folder(calls, tmp_path / "after")
    with pytest.raises(kernel.KernelRefused, match="the second step") as refused:
        calls.walk(walker)
    assert refused.value.errno == errno.EEXIST
    assert not (tmp_path / "after").exists()


def test_a_result_that_is_not_the_wanted_one_is_a_failure(walker: SyscallWalker, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(write)
    calls = SyscallBatch()
    calls.step = "await"
    calls.add("read", read, ctypes.create_string_buffer(1), 1, want=1)
    make_folder(calls, tmp_path / "after")
    with pytest.raises(kernel.KernelRefused, match="await"):
        calls.walk(walker)
    os.close(read)
    assert not (tmp_path / "after").exists()


def test_a_kept_result_is_the_argument_of_a_later_call(walker: SyscallWalker, tmp_path: Path) -> None:
    calls = SyscallBatch()
    opened = calls.add("openat", AT_FDCWD, str(tmp_path / "file"), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    calls.store_result_at(opened, calls.argument_address(calls.add("write", -1, "text", 4, want=4), 0))
    calls.walk(walker)
    assert (tmp_path / "file").read_text() == "text"


def test_the_second_of_two_ways_is_taken_only_when_the_first_fails(walker: SyscallWalker, tmp_path: Path) -> None:
    for first, second in ((tmp_path / "one", tmp_path / "unused"), (tmp_path / "no" / "parent", tmp_path / "other")):
        calls = SyscallBatch()
        calls.add("mkdirat", AT_FDCWD, str(first), 0o777, skip_on_ok=1, on_error_go_on=True)
        make_folder(calls, second)
        calls.walk(walker)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "other"}


def test_a_part_can_be_walked_alone(walker: SyscallWalker, tmp_path: Path) -> None:
    calls = SyscallBatch()
    make_folder(calls, tmp_path / "a")
    make_folder(calls, tmp_path / "b")
    calls.walk(walker, 1)
    calls.walk(walker, 0, 1)
    assert (tmp_path / "a").is_dir()


def test_a_new_process_makes_the_calls_and_says_where_it_stopped(walker: SyscallWalker, tmp_path: Path) -> None:
    calls = SyscallBatch()
    make_folder(calls, tmp_path / "a")
    make_folder(calls, tmp_path / "b")
    (tmp_path / "b").mkdir()

    def fork_from_here() -> int:
        forked = walker.fork(calls.call_address(0), calls.call_address(None), kernel.FORK_ADDRESS)
        if forked > 0:
            os._exit(7 if forked == calls.call_address(1) else 0)
        return os.waitstatus_to_exitcode(os.waitpid(-forked, 0)[1])

    # As in a template, from a process of one thread: another could hold Python's lock, and would be missing in the new process.
    alone = os.fork()
    if alone == 0:
        try:
            os._exit(fork_from_here())
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(alone, 0)[1]) == 7
    assert (tmp_path / "a").is_dir()


def test_no_page_is_writable_and_executable_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    make_syscall = kernel.make_syscall

    def look_around(name: str, *args: int) -> int:
        seen.extend((_read_permissions(args[0]), str(make_syscall(name, *args)), _read_permissions(args[0])))
        return 0

    monkeypatch.setattr(kernel, "make_syscall", look_around)
    if batch.load_native_walker() is None:
        pytest.skip(f"no machine code for {kernel.MACHINE}")
    assert seen == ["rw-p", "0", "r-xp"]


def _read_permissions(address: int) -> str:
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, permissions, *_ = line.split()
        first, last = (int(end, 16) for end in place.split("-"))
        if first <= address < last:
            return permissions
    raise AssertionError(f"nothing is mapped at {address:x}")


def test_more_calls_than_a_batch_holds_are_refused() -> None:
    calls = SyscallBatch()
    for _ in range(batch.MOST_CALLS):
        calls.add("getpid")
    with pytest.raises(OSError, match="more calls"):
        calls.add("getpid")
