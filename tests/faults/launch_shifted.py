"""``python -m tests.faults.launch_shifted OFFSET FILE``: the service of the tests, with a clock that a test can set.

The file OFFSET holds the seconds by which the clock is wrong; it is read whenever the time is asked for.
"""

import runpy
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    read_time, offset = time.time, Path(sys.argv[1])
    time.time = lambda: read_time() + float(offset.read_text())  # before any module keeps the real one
    sys.argv = [sys.argv[0], sys.argv[2]]
    runpy.run_module("tests.e2e.http.launch", run_name="__main__")
