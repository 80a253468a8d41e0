"""The table of system calls, which launchers read without the json module."""

import json
from pathlib import Path

from gristmill.sandbox.linux import kernel
from gristmill.sandbox.linux.seccomp import syscall_filters as filters


def test_the_table_is_read_as_what_it_is() -> None:
    assert kernel.get_syscall_tables() == json.loads(Path(kernel.__file__).with_name("syscalls.json").read_text())


def test_every_call_that_is_refused_to_servers_has_a_number_here() -> None:
    content = filters.CONFINED_FILE.read_text()
    refused = content.partition('refuse = """')[2].partition('"""')[0].split()
    assert [name for name in refused if name not in kernel.get_syscall_tables()["x86_64"]] == []
