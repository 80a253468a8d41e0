"""``python -m tests.faults.launch_limited DESCRIPTORS FILE``: the service of the tests, with a limit of open files."""

import os
import resource
import sys

if __name__ == "__main__":
    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    os.execv(sys.executable, [sys.executable, "-m", "tests.e2e.http.launch", sys.argv[2]])
