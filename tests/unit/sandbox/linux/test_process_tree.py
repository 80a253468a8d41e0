"""Process trees, seen from outside."""

import os
import signal
import subprocess
import sys

import pytest

from gristmill.sandbox.linux import process_tree as tree

PARENT = "import os, signal\nfor _ in range(12):\n    os.fork() or signal.pause()\nprint(flush=True)\nsignal.pause()"


def test_all_children_are_seen_although_the_kernel_names_them_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_PAGE", 16)
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        found = tree.list_children(parent.pid)
        for child in found:
            os.kill(child, signal.SIGKILL)
        parent.kill()
    assert len(found) == 12
