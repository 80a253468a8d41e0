"""bubblewrap around ``python3 -I`` per run: all namespaces, a read-only file system, no seccomp filter, no limits."""

import os
import sys

import speak
from process import ProcessPeer


def command():
    """bwrap with the usual flags, and the interpreter."""
    python = os.path.realpath(sys.executable)
    flags = "--unshare-all --die-with-parent --new-session --clearenv --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp".split()
    # What we need of the repository may lie under /tmp, which is empty in there.
    for folder in (speak.HERE, speak.packages_folder()):
        if os.path.isdir(folder):
            flags += ["--ro-bind", str(folder), str(folder)]
    return [os.environ["BENCH_BWRAP"], *flags, "--cap-drop", "ALL", "--", python, "-I"]


if __name__ == "__main__":
    speak.main(ProcessPeer(command()), notes="all namespaces, read-only root, tmpfs; no seccomp filter, no limits")
