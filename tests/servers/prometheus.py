"""The linter of Prometheus, from the distribution's package, unpacked into `.tools`: nothing is installed or started."""

import shutil
from pathlib import Path

from tests.servers import TOOLS
from tests.servers.debian import unpack

HOME = TOOLS / "prometheus"


def promtool() -> str:
    """The program; fails if it is not there, and says how to get it."""
    found = shutil.which("promtool") or str(HOME / "usr" / "bin" / "promtool")
    if not Path(found).exists():
        raise FileNotFoundError(f"{found} is missing: run `python -m tests.servers` first")
    return found


def fetch() -> None:
    """Unpack the package if the program is missing."""
    try:
        promtool()
    except FileNotFoundError:
        unpack("prometheus", HOME)
